"""The instances of a run: files, folders of files, or a list that is still being written."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple, TextIO

from tailcut.errors import InputError
from tailcut.live.printable import printable


class Instance(NamedTuple):
    """An instance file, known by the path it was given as."""

    name: str
    path: Path
    """Absolute."""


def instances_in(
    given: Iterable[str],
    patterns: tuple[str, ...],
    listed: TextIO | None = None,
    *,
    on_absent: Callable[[str], None] | None = None,
) -> Iterator[Instance]:
    """Yield each instance once: files as given, folders searched for `patterns`, `-` read line by line.

    Names and folders are checked before the first is yielded; lines of a list only when they come. A line
    that names no file is an error, or skipped with a call of `on_absent`, which is given what is wrong.
    """
    words = list(given)
    parts = [None if word == "-" else _files(Path(word), patterns) for word in words]
    return _once(parts, sys.stdin if listed is None else listed, on_absent)


def _once(
    parts: list[list[Path] | None], listed: TextIO, on_absent: Callable[[str], None] | None
) -> Iterator[Instance]:
    seen: set[str] = set()
    for files in parts:
        for path in _listed(listed, on_absent) if files is None else files:
            name = str(path)
            if name not in seen:
                seen.add(name)
                yield Instance(name, path.absolute())


def _listed(lines: TextIO, on_absent: Callable[[str], None] | None) -> Iterator[Path]:
    if isinstance(lines, io.TextIOWrapper):
        lines.reconfigure(errors="surrogateescape")  # a file's name may be any bytes
    for line in lines:
        text = line.strip()
        if text:
            try:
                yield _file(Path(text))
            except InputError as error:
                if on_absent is None:
                    raise
                on_absent(str(error))


def _files(path: Path, patterns: tuple[str, ...]) -> list[Path]:
    if not path.is_dir():
        return [_file(path)]
    found = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and any(fnmatch(file.name, pattern) for pattern in patterns)
    )
    if not found:
        raise InputError(f"{path}: holds no file that is called {' or '.join(patterns)}")
    return found


def _file(path: Path) -> Path:
    try:
        found = path.is_file()
    except OSError as error:  # its name is too long, or a folder must not be read
        raise InputError(f"{printable(str(path))}: cannot be read: {error.strerror}") from None
    if not found:
        raise InputError(f"{printable(str(path))}: there is no such instance file")
    return path
