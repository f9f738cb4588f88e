"""The file of answers: one JSON line per completed instance, completed again after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from tailcut.errors import InputError, LiveError
from tailcut.live.instance_record import InstanceRecord


class AnswersFile:
    """A file of answers that follows the journal: missing lines are written, a torn line is removed."""

    def __init__(self, path: str | Path, records: Iterable[InstanceRecord]) -> None:
        self.path = Path(path)
        try:
            written = self._mend()
            # Unbuffered: what could not be written must not be written later, when the file is closed.
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None
        for record in records:
            if record.over and _identity(record.as_dict()) not in written:
                self.add(record)

    def _mend(self) -> set[tuple[str, str | None, int]]:
        """Cut off an incomplete last line; return which instances have a line."""
        if not self.path.is_file():  # a terminal or a pipe cannot be read back
            return set()
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        names = set()
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                names.add(_identity(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"{self.path}, line {number}: is not an answer of `tailcut run`") from None
        if whole < len(data):
            os.truncate(self.path, whole)
        return names

    def add(self, record: InstanceRecord) -> None:
        """Write the line of a completed instance."""
        line = memoryview(answer_line(record).encode() + b"\n")
        try:
            while line:  # a disk that is nearly full may accept only a part
                line = line[self._file.write(line) :]
        except OSError as error:
            raise LiveError(
                f"{self.path}: cannot be written: {error.strerror}; nothing is lost, the state file has it: "
                "make room and run the same command again"
            ) from None

    def __enter__(self) -> AnswersFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _identity(line: dict[str, Any]) -> tuple[str, str | None, int]:
    """Return what identifies a line: the instance, the content of its file, and the attempt."""
    return str(line["instance"]), line.get("content"), int(line.get("attempt", 0))


def answer_line(record: InstanceRecord) -> str:
    """Return the JSON line of a completed instance."""
    return json.dumps(record.as_dict(), allow_nan=False)
