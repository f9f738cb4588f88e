"""``python -m tailcut.estimate STATE PROJECT``: the estimate for the latest instances, as a line of JSON.

The service runs it in a separate low-priority process, so that no request waits for it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tailcut.errors import TailcutError
from tailcut.estimate import estimate_run
from tailcut.journal import EventKind, Journal
from tailcut.journal.instances import Instances
from tailcut.journal.replay import make

LATEST = 1_000
"""The number of latest instances that are used."""


def latest_estimate(path: Path, project: str) -> dict[str, object]:
    """Return the estimate for the latest instances of a project; None if none is completed."""
    with Journal(path, read_only=True) as journal:
        number = journal.projects()[project]
        selector = make(journal.description(number))
        names = list(selector.algorithms)
        served = Instances(selector.cutoff, schedules=selector.schedules, most=LATEST)
        for event in journal.events(number):
            served.take(event)
            if event.kind is EventKind.ADD_ALGORITHM:
                names.append(event.body["algorithm"])
            elif event.kind is EventKind.REMOVE_ALGORITHM:
                names.remove(event.body["algorithm"])
    estimated = estimate_run(served, names)
    return {"last_event": served.last_event, "estimate": None if estimated is None else estimated.as_dict()}


if __name__ == "__main__":
    os.nice(10)
    try:
        sys.stdout.write(json.dumps(latest_estimate(Path(sys.argv[1]), sys.argv[2])) + "\n")
    except TailcutError as error:
        sys.exit(f"tailcut: {error}")
