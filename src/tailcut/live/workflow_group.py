"""Several workflows that one workflow runs at once."""

from __future__ import annotations

from collections import deque

from tailcut.live.jobs import ProgramJob
from tailcut.live.limits import Ended
from tailcut.live.workflows import JobsAtOnce, WideWorkflow, Workflow


class WorkflowGroup:
    """Concurrent workflows within one that waits for them; close the group when that one ends."""

    def __init__(self) -> None:
        self._members: dict[int, Workflow[None]] = {}
        self._starting: dict[int, ProgramJob] = {}
        self._ended = deque[tuple[int, Ended]]()
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: Workflow[None]) -> None:
        """Begin one more, up to its first job, which starts when the group is waited for."""
        self._numbers += 1
        self._members[self._numbers] = member
        self._resume(self._numbers, None)

    def until_one_ends(self) -> WideWorkflow[None]:
        """Run all of them until at least one ends."""
        before = len(self)
        while self._members and len(self) >= before:
            starting, self._starting = self._starting, {}
            yield JobsAtOnce(starting, self._ended)
            while self._ended:
                self._resume(*self._ended.popleft())

    def _resume(self, number: int, ended: Ended | None) -> None:
        member = self._members[number]
        try:
            self._starting[number] = next(member) if ended is None else member.send(ended)
        except StopIteration:
            del self._members[number]

    def close(self) -> None:
        """Give up those that are in progress."""
        for member in self._members.values():
            member.close()
