"""Pages of events, and explanations of decisions that were made earlier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import UnknownDecisionError
from tailcut.journal import EventKind, Journal, Project
from tailcut.types import Outcome


def description(selector: str, **more: Any) -> dict[str, Any]:
    return {"selector": selector, "algorithms": ["a", "b"], "cutoff": 60.0, **more}


def test_pages_cover_everything_once_in_both_directions(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        one = Project.create(journal, "one", description("random"))
        two = Project.create(journal, "two", description("random"))
        for number in range(11):
            decision = one.select([1.0])
            two.select([1.0])
            if number % 2:
                one.observe(decision, Outcome.failed())
        numbers = [event.number for event in one.history()]
        for newest_first in (True, False):
            seen: list[int] = []
            cursor = None
            while page := journal.page(one.number, newest_first=newest_first, limit=4, cursor=cursor):
                assert len(page) <= 4
                seen += [event.number for event in page]
                cursor = page[-1].number
            assert seen == sorted(numbers, reverse=newest_first)
        observed = journal.page(one.number, kinds=[EventKind.OBSERVE], limit=100)
        assert [event.body["decision"] for event in observed] == [9, 7, 5, 3, 1]
        about = journal.page(one.number, decision=3, newest_first=False)
        assert [event.kind for event in about] == [EventKind.SELECT, EventKind.OBSERVE]


@pytest.mark.parametrize("selector", ["thompson_rev", "tailcut", "tailcut_schedule", "round_robin"])
def test_decisions_are_explained_after_a_restart(tmp_path: Path, selector: str) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description(selector))
        for number in range(12):
            decision = project.select([1.0 * number, 5.0], instance=f"i{number}")
            project.observe(decision, Outcome.solved(1.0 + number))
        waiting = project.select([3.0, 5.0], instance="waits")
        at_once = project.explain(waiting.id)
        project.keep()
    with Journal(tmp_path / "state.db") as journal:
        again = Project(journal, "p")
        assert again.explain(waiting.id) == again.explain(waiting) == at_once
        with pytest.raises(UnknownDecisionError, match="is not this project's"):
            again.explain(replace(waiting, instance="another"))
        before = again.selector.to_bytes()
        settled = again.explain(3, top=2)
        assert (settled.instance, settled.outcomes_since) == ("i3", 9)
        assert again.selector.to_bytes() == before
        with pytest.raises(UnknownDecisionError):
            again.explain(99)
