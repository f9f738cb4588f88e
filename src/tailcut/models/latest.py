"""The latest so many records of runs, each with the number of its algorithm in front."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Record = TypeVar("Record", bound=tuple)  # type: ignore[type-arg]


class Latest(Generic[Record]):
    """A queue of at most `size` records (algorithm, ...), from which the oldest falls out.

    >>> latest: Latest[tuple[int, str]] = Latest(2)
    >>> latest.push((0, "x")), latest.push((1, "y")), latest.push((1, "z"))
    (None, None, (0, 'x'))
    >>> latest.remove(0)
    >>> list(latest)
    [(0, 'y'), (0, 'z')]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._records: deque[Record] = deque()

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def push(self, record: Record) -> Record | None:
        """Add a record; return the one that falls out, if any."""
        self._records.append(record)
        return self._records.popleft() if len(self._records) > self.size else None

    def remove(self, algorithm: int) -> None:
        """Drop the records of an algorithm; the numbers behind it move up by one."""
        self.replace((number - (number > algorithm), *rest) for number, *rest in self if number != algorithm)

    def replace(self, records: Iterable[tuple[object, ...]]) -> None:
        """Hold these records instead, oldest first."""
        self._records = deque(records)  # type: ignore[arg-type]
