"""The instances of a run: files, folders of files, or a list that is still being written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple, TextIO

from tailcut.errors import InputError


class Instance(NamedTuple):
    """An instance file, known by the path it was given as."""

    name: str
    path: Path
    """Absolute."""


def instances_in(
    given: Iterable[str], patterns: tuple[str, ...], listed: TextIO | None = None
) -> Iterator[Instance]:
    """Yield each instance once: files as given, folders searched for `patterns`, `-` read line by line.

    Names and folders are checked before the first is yielded; lines of a list only when they come.
    """
    words = list(given)
    parts = [(word, None if word == "-" else _files(Path(word), patterns)) for word in words]
    return _once(parts, sys.stdin if listed is None else listed)


def _once(parts: list[tuple[str, list[Path] | None]], listed: TextIO) -> Iterator[Instance]:
    seen: set[str] = set()
    for _, files in parts:
        for path in _listed(listed) if files is None else files:
            name = str(path)
            if name not in seen:
                seen.add(name)
                yield Instance(name, path.absolute())


def _listed(lines: TextIO) -> Iterator[Path]:
    for line in lines:
        text = line.strip()
        if text:
            yield _file(Path(text))


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
    if not path.is_file():
        raise InputError(f"{path}: there is no such instance file")
    return path
