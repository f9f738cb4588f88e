"""What came of a stream: the file of answers, and the outputs of the solvers that answered."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.errors import InputError, LiveError
from tailcut.live.engine import RunResult
from tailcut.live.instance_record import InstanceRecord
from tailcut.live.instances import Instance, printable

_LONGEST_NAME = 200
"""Bytes of a file's name; file systems allow 255, and the temporary name is longer."""


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
        """Remove an incomplete last line, and lines with zeroed bytes; return which instances have a line."""
        if not self.path.is_file():  # a terminal or a pipe cannot be read back
            return set()
        data = self.path.read_bytes()
        *lines, last = data.split(b"\n")
        names, kept = set(), []
        for number, line in enumerate([*lines, last], 1):
            try:
                if number <= len(lines) and b"\0" not in line:
                    names.add(_identity(json.loads(line)))
                    kept.append(line + b"\n")
                elif not line.replace(b"\0", b"").decode().isprintable():
                    raise ValueError  # noqa: TRY301 - what is left of an answer is a text
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"{self.path}, line {number}: is not an answer of `tailcut run`") from None
        if b"\0" in data:
            warnings.warn(f"{self.path}: is damaged; what is missing is written again", stacklevel=2)
        if len(kept) < len(lines) or last:
            self.path.write_bytes(b"".join(kept))
        return names

    def add(self, record: InstanceRecord) -> None:
        line = memoryview(answer_line(record).encode() + b"\n")
        try:
            while line:  # a disk that is nearly full may accept only a part
                line = line[self._file.write(line) :]
        except OSError as error:
            raise LiveError(
                f"{self.path}: cannot be written: {error.strerror}; nothing is lost, the state file has it: "
                "make room and run the same command again"
            ) from None

    def close(self) -> None:
        self._file.close()


def _identity(line: dict[str, Any]) -> tuple[str, str | None, int]:
    """Return what identifies a line: the instance, the content of its file, and the attempt."""
    return str(line["instance"]), line.get("content"), int(line.get("attempt", 0))


def answer_line(record: InstanceRecord) -> str:
    return json.dumps(record.as_dict(), allow_nan=False)


def keep_output(folder: Path, instance: Instance, run: RunResult) -> None:
    """Write the output of the run that answered into a file named after the instance, and note its path."""
    target = folder / output_name(instance.name)
    try:
        statefile.write(target, run.output)
    except OSError as error:
        raise LiveError(
            f"{printable(str(target))}: cannot be written: {error.strerror}; everything else is kept: "
            "make room and run the same command again"
        ) from None
    run.note["output"] = str(target)


def output_name(instance: str) -> str:
    """Return the name of an instance's output file; a name that is too long ends in its digest.

    >>> output_name("queue/50%.cnf")
    'queue%2F50%25.cnf.out'
    >>> len(output_name("deep/" * 100))
    200
    """
    name = instance.replace("%", "%25").replace(os.sep, "%2F")
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_NAME:
        digest = hashlib.sha256(encoded).hexdigest()[:20]
        name = encoded[: _LONGEST_NAME - 25].decode(errors="ignore") + f"-{digest}"
    return name + ".out"
