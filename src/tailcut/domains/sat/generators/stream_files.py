"""A generated stream as DIMACS files, FAMILY-NUMBER.cnf, that are never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tailcut.domains.sat.dimacs import dump, write
from tailcut.domains.sat.generators import generate, plan
from tailcut.errors import InputError


class StreamFile(NamedTuple):
    """A file of a stream."""

    path: Path
    family: str
    seed: int
    written: bool
    """False if it was there already, with the same formula."""


def write_stream(
    folder: Path,
    count: int,
    seed: int,
    families: Sequence[str] | None = None,
    *,
    on_written: Callable[[Path], None] = lambda _path: None,
) -> list[StreamFile]:
    """Write the formulas of a stream into a folder and return their files.

    A file that is there already must hold the same formula, or nothing is written.
    """
    files = []
    for name, family, number in plan(count, seed, families):
        path = folder / f"{name}.cnf"
        files.append(StreamFile(path, family, number, written=not path.exists()))
    for file in files:
        if not file.written:
            _check_same(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file.written:
                write(file.path, generate(file.family, file.seed), _comment(file))
            on_written(file.path)
    except OSError as error:
        raise InputError(
            f"{error.filename or folder}: cannot be written: {error.strerror or error}"
        ) from None
    return files


def _comment(file: StreamFile) -> str:
    """Return how to make the formula again."""
    return f"tailcut.domains.sat.generators.generate({file.family!r}, {file.seed})"


def _check_same(file: StreamFile) -> None:
    try:
        same = file.path.read_bytes() == dump(generate(file.family, file.seed), _comment(file))
    except OSError as error:
        raise InputError(f"{file.path}: cannot be read: {error.strerror or error}") from None
    if not same:
        raise InputError(f"{file.path}: exists with different content; choose another folder")
