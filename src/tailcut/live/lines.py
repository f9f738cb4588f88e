"""The answers as JSON lines: one per instance that is over, made whole again after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tailcut.errors import InputError
from tailcut.live.course import Course


class AnswerLines:
    """A file of answers that follows the journal: what it lacks is written again, a torn line removed."""

    def __init__(self, path: str | Path, courses: Iterable[Course]) -> None:
        self.path = Path(path)
        try:
            written = self._mend()
            self._file: IO[str] = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None
        for course in courses:
            if course.over and course.instance not in written:
                self.add(course)

    def _mend(self) -> set[str]:
        """Cut off a line that was not written to its end; return the instances that have theirs."""
        if not self.path.exists():
            return set()
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        names = set()
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                names.add(str(json.loads(line)["instance"]))
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{self.path}, line {number}: is not an answer of `tailcut run`") from None
        if whole < len(data):
            os.truncate(self.path, whole)
        return names

    def add(self, course: Course) -> None:
        """Write the line of an instance that is over."""
        self._file.write(line(course) + "\n")
        self._file.flush()

    def __enter__(self) -> AnswerLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def line(course: Course) -> str:
    """Return the JSON line of an instance that is over."""
    record: dict[str, Any] = course.record()
    return json.dumps(record, allow_nan=False)
