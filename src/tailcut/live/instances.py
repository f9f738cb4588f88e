"""The instances of a run: files, folders, or a list that is still being written."""

from __future__ import annotations

import io
import json
import math
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TextIO

from tailcut.errors import InputError
from tailcut.live.printable import printable
from tailcut.types import check_seconds


class Instance(NamedTuple):
    """An instance file, identified by the path as given."""

    name: str
    path: Path
    """Absolute."""
    cutoff: float | None = None
    """Its cutoff in seconds; None: the general one."""
    priority: float = 0.0
    """Of the waiting instances, the one with the highest priority is next."""
    tags: Mapping[str, str] = MappingProxyType({})
    """What else is known about it: features of the selector (`tailcut.live.tags`)."""


def instances_in(
    given: Iterable[str],
    patterns: tuple[str, ...],
    listed: TextIO | None = None,
    *,
    on_absent: Callable[[str], None] | None = None,
    models: Mapping[str, str] | None = None,
) -> Iterator[Instance]:
    """Yield each instance once: files as given, folders searched for `patterns`, `-` read line by line.

    Names and folders are checked before the first is yielded, lines of a list only when they arrive. A line
    is a path, or a JSON object with `instance` and optionally `cutoff`, `priority` and `tags`. A line that
    names no file is an error, or is skipped after calling `on_absent` with the problem. Files of a folder
    that match a key of `models` are not instances if files that match its value are beside them.
    """
    words = list(given)
    parts = [None if word == "-" else _files(Path(word), patterns, models or {}) for word in words]
    return _once(parts, sys.stdin if listed is None else listed, on_absent)


def _once(
    parts: list[list[Path] | None], listed: TextIO, on_absent: Callable[[str], None] | None
) -> Iterator[Instance]:
    seen: set[str] = set()
    for files in parts:
        given = (Instance(str(path), path.absolute()) for path in files or ())
        for instance in _listed(listed, on_absent) if files is None else given:
            if instance.name not in seen:
                seen.add(instance.name)
                yield instance


def _listed(lines: TextIO, on_absent: Callable[[str], None] | None) -> Iterator[Instance]:
    if isinstance(lines, io.TextIOWrapper):
        lines.reconfigure(errors="surrogateescape")  # a file's name may be any bytes
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text:
            try:
                yield read_line(text, number)
            except InputError as error:
                if on_absent is None:
                    raise
                on_absent(str(error))


_FIELDS = ("instance", "cutoff", "priority", "tags")


def read_line(text: str, number: int) -> Instance:
    """Return the instance that a line of a list names.

    >>> read_line('{"instance": "/etc/hostname", "cutoff": 5, "priority": 2}', 1)[2:4]
    (5.0, 2.0)
    >>> read_line('{"instance": "/etc/hostname", "cutof": 5}', 7)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: line 7: cutof is not known; known: instance, cutoff, priority, tags
    """
    if not text.startswith("{"):
        path = _file(Path(text))
        return Instance(str(path), path.absolute())
    where = f"line {number}"
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: is not JSON: {error}") from None
    unknown = next((name for name in given if name not in _FIELDS), None)
    if unknown is not None:
        raise InputError(f"{where}: {printable(unknown)} is not known; known: {', '.join(_FIELDS)}")
    if not isinstance(given.get("instance"), str) or not given["instance"]:
        raise InputError(f"{where}: instance must be the path of a file")
    path = _file(Path(given["instance"]))
    cutoff = given.get("cutoff")
    if cutoff is not None:
        cutoff = check_seconds(f"{where}: cutoff", cutoff, above_zero=True)
    priority = _priority(given.get("priority", 0.0), where)
    return Instance(str(path), path.absolute(), cutoff, priority, _tags(given.get("tags", {}), where))


def _priority(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{where}: priority must be a finite number, got {value!r}")
    return float(value)


def _tags(value: object, where: str) -> dict[str, str]:
    """Return tags by name; numbers and truth values become text."""
    if not isinstance(value, dict):
        raise InputError(f'{where}: tags must be an object, as {{"family": "bmc"}}, got {value!r}')
    wrong = next((name for name, one in value.items() if not isinstance(one, str | int | float)), None)
    if wrong is not None:
        raise InputError(f"{where}: tags.{printable(wrong)} must be a text, a number, true or false")
    return {name: one if isinstance(one, str) else json.dumps(one) for name, one in value.items()}


def _files(path: Path, patterns: tuple[str, ...], models: Mapping[str, str]) -> list[Path]:
    if not path.is_dir():
        return [_file(path)]
    found = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and any(fnmatch(file.name, pattern) for pattern in patterns)
    )
    if not found:
        raise InputError(f"{path}: holds no file that is called {' or '.join(patterns)}")
    for model, data in models.items():
        with_data = {file.parent for file in found if fnmatch(file.name, data)}
        found = [one for one in found if not (one.parent in with_data and fnmatch(one.name, model))]
    return found


def _file(path: Path) -> Path:
    try:
        found = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character in its name
        found = False
    except OSError as error:  # its name is too long, or a folder must not be read; is_file() may hide that
        raise InputError(f"{printable(str(path))}: cannot be read: {error.strerror}") from None
    if not found:
        raise InputError(f"{printable(str(path))}: there is no such instance file")
    return path
