"""Which completed instances without an answer are run again: on request, or after an error."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tailcut.errors import InputError
from tailcut.live.instance_record import InstanceRecord, RunRecord
from tailcut.live.limits import Ending

_STOPPED = (str(Ending.CPU_LIMIT), str(Ending.WALL_LIMIT))


class RetryKind(enum.StrEnum):
    """Which instances are run again on request."""

    UNSOLVED = "unsolved"
    """All that have no answer."""
    FAILED = "failed"
    """Those with a run that did not end at a time limit."""

    @staticmethod
    def parse(text: str) -> RetryKind:
        """Return the kind of that name, or say which there are."""
        if text not in list(RetryKind):
            raise InputError(f"--retry must be one of {', '.join(RetryKind)}, got {text!r}")
        return RetryKind(text)


@dataclass(frozen=True)
class Retry:
    """A request to run instances again."""

    kind: RetryKind
    cutoff: float | None = None
    """Seconds for each of them; None: the state file's cutoff."""

    def chosen(self, records: Mapping[str, InstanceRecord]) -> list[str]:
        """Return the instances to run again, such that repeating the request continues it.

        With a cutoff, these are the instances that had less time; without, those with the fewest attempts.
        """
        open_ = {name: one for name, one in records.items() if one.over and self._is_meant(one)}
        if self.cutoff is not None:
            return [name for name, one in open_.items() if (one.cutoff or 0.0) < self.cutoff]
        least = min((one.attempt for one in open_.values()), default=0)
        return [name for name, one in open_.items() if one.attempt == least]

    def _is_meant(self, record: InstanceRecord) -> bool:
        if record.answer is not None:
            return False
        return self.kind is RetryKind.UNSOLVED or any(_has_failed(run) for run in record.runs)


def _has_failed(run: RunRecord) -> bool:
    return run["answer"] is None and run["ending"] not in _STOPPED


def served_again(
    records: Mapping[str, InstanceRecord], solvers: Collection[str], retry: Retry | None
) -> dict[str, str]:
    """Return the instances to run again, and why; `solvers` are those that can be chosen."""
    wanted = {} if retry is None else dict.fromkeys(retry.chosen(records), "as wanted")
    for name, record in records.items():
        mended = sorted(record.void.intersection(solvers))
        if mended and not record.open_runs and record.answer is None:
            wanted[name] = f"{', '.join(mended)} did not work then"
    return wanted
