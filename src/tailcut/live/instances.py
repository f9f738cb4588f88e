"""The instances of a run: files, folders, growing lists; their content, order and tags."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import re
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from queue import PriorityQueue
from threading import Thread
from types import MappingProxyType
from typing import NamedTuple, TextIO

from tailcut.errors import InputError, PortfolioError
from tailcut.live.tomltable import TomlTable

LOOK_EVERY = 0.5
"""Seconds between two scans of a folder."""
SETTLED = 2.0
"""Seconds without a write after which a file counts as complete."""
TAG_FEATURES = tuple(f"tag {number}" for number in range(16))
"""For all tags together."""
_ENOUGH = 20
"""With fewer instances, the order is not worth a warning."""
_SHOWN = 3


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
    """What else is known about it: features of the selector (`tag_features`)."""
    measure: float | None = None
    """Seconds for each other solver that is run on it to learn more; None: no such runs."""


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
    lines = sys.stdin if listed is None else listed

    def once() -> Iterator[Instance]:
        seen: set[str] = set()
        for files in parts:
            known = (Instance(str(path), path.absolute()) for path in files or ())
            for instance in _listed(lines, on_absent) if files is None else known:
                if instance.name not in seen:
                    seen.add(instance.name)
                    yield instance

    return once()


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


def read_line(text: str, number: int) -> Instance:
    """Return the instance that a line of a list names.

    >>> read_line('{"instance": "/etc/hostname", "cutoff": 5, "priority": 2}', 1)[2:4]
    (5.0, 2.0)
    >>> read_line('{"instance": "/etc/hostname", "cutof": 5}', 7)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: line 7: cutof is not known here; did you mean cutoff?
    """
    if not text.startswith("{"):
        path = _file(Path(text))
        return Instance(str(path), path.absolute())
    where = f"line {number}"
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: is not JSON: {error}") from None
    table = TomlTable(where, "", given)
    try:
        table.close(("instance", "cutoff", "priority", "tags"))
        name, cutoff, priority = table.text("instance"), table.number("cutoff"), table.finite("priority", 0.0)
    except PortfolioError as error:
        raise InputError(printable(str(error))) from None
    path = _file(Path(name))
    return Instance(str(path), path.absolute(), cutoff, priority, _tags(given.get("tags", {}), where))


def _tags(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InputError(f'{where}: tags must be an object, as {{"family": "bmc"}}, got {value!r}')
    wrong = next((name for name, one in value.items() if not isinstance(one, str | int | float)), None)
    if wrong is not None:
        raise InputError(f"{where}: tags.{printable(wrong)} must be a text, a number, true or false")
    return {name: one if isinstance(one, str) else json.dumps(one) for name, one in value.items()}


def _files(path: Path, patterns: tuple[str, ...], models: Mapping[str, str]) -> list[Path]:
    if not path.is_dir():
        return [_file(path)]
    found = sorted(_matching(path, patterns))
    if not found:
        raise InputError(f"{path}: holds no file that is called {' or '.join(patterns)}")
    for model, data in models.items():
        with_data = {file.parent for file in found if fnmatch(file.name, data)}
        found = [one for one in found if not (one.parent in with_data and fnmatch(one.name, model))]
    return found


def _matching(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for file in folder.rglob("*"):
        if any(fnmatch(file.name, pattern) for pattern in patterns) and file.is_file():
            yield file


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


def printable(text: str) -> str:
    r"""Return a text with its control characters escaped: a name must not move the cursor.

    >>> printable("a\x1b[31m\nb.cnf")
    'a\\x1b[31m\\nb.cnf'
    >>> printable("formulas/größer als 3.cnf")
    'formulas/größer als 3.cnf'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


class FileContent(NamedTuple):
    """A file's digest, with its size and date, which show without reading it whether it has changed."""

    sha256: str
    size: int
    modified: int
    """Nanoseconds since 1970."""

    @staticmethod
    def of(path: Path) -> FileContent:
        """Read a file, unless it was read before and has not changed since."""
        try:
            found = path.stat()
            digest = _digest(path, found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise InputError(f"{printable(str(path))}: cannot be read: {error.strerror}") from None
        return FileContent(digest, found.st_size, found.st_mtime_ns)

    def is_in(self, path: Path) -> bool:
        """Return whether a file still has this content; a file of the same size and date is not read."""
        try:
            found = path.stat()
        except OSError:
            return False
        if (found.st_size, found.st_mtime_ns) == (self.size, self.modified):
            return True
        return found.st_size == self.size and FileContent.of(path).sha256 == self.sha256


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 - they make it another file
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tag_features(tags: Mapping[str, str]) -> dict[str, float]:
    """Return the features of tags, which the user knows but the file does not show; 0 if there are none.

    A selector's features are fixed by its first instance, but new tags may appear at any time. So tags are
    hashed: `family=bmc` adds +1 or -1 to one of a few features. Two tags may share a feature, with the same
    sign or different ones; such instances may still differ in other features.

    >>> found = tag_features({"family": "bmc"})
    >>> {name: value for name, value in found.items() if value}
    {'tag 15': 1.0}
    """
    values = dict.fromkeys(TAG_FEATURES, 0.0)
    for name, value in tags.items():
        digest = hashlib.sha256(f"{name}={value}".encode(errors="surrogateescape")).digest()
        values[TAG_FEATURES[digest[0] % len(TAG_FEATURES)]] += 1.0 if digest[1] % 2 else -1.0
    return values


def with_tags(
    values: Mapping[str, float], tags: Mapping[str, str], known: Sequence[str] | None, *, always: bool = False
) -> dict[str, float]:
    """Return the features that the selector knows; absent ones are nan.

    If it knows none yet, features of tags are added if the instance has tags, or `always`.
    """
    every = {**values, **tag_features(tags)}
    if known is None:
        return every if tags or always else dict(values)
    return {name: every.get(name, math.nan) for name in known}


def shuffled(instances: Iterable[Instance], seed: int) -> list[Instance]:
    """Return instances in a random order; that of two instances does not depend on the others.

    >>> [one.name for one in shuffled([Instance(name, Path(name)) for name in "abcd"], seed=1)]
    ['c', 'a', 'b', 'd']
    >>> [one.name for one in shuffled([Instance(name, Path(name)) for name in "dca"], seed=1)]
    ['c', 'a', 'd']
    """

    def rank(instance: Instance) -> bytes:
        return hashlib.sha256(f"{seed} {instance.name}".encode(errors="surrogateescape")).digest()

    return sorted(instances, key=rank)


def words_on_order(instances: Iterable[Instance]) -> str | None:
    """Return a sentence for the user if instances come one family after the other, else None.

    A family is the beginning of a name: its folder, and its letters up to the first digit.

    >>> instances = [Instance(f"{family}{n}.cnf", Path("x")) for family in "ab" for n in range(10)]
    >>> words_on_order(instances)
    'the instances come family by family (a*, b*), the worst order to learn in: --shuffle mixes them'
    """
    families = [re.sub(r"\d[^/]*$", "", one.name) for one in instances]
    count, shares = len(families), Counter(families)
    if count < _ENOUGH or len(shares) < 2:
        return None
    by_chance = (count - 1) * (1.0 - sum(n * n for n in shares.values()) / count**2)
    changes = sum(one != other for one, other in pairwise(families))
    if changes >= by_chance / 2.0:
        return None
    more = ", ..." if len(shares) > _SHOWN else ""
    shown = ", ".join(f"{one}*" for one in list(shares)[:_SHOWN]) + more
    return f"the instances come family by family ({shown}), the worst order to learn in: --shuffle mixes them"


class Arrivals:
    """Yields instances as they arrive from several sources, the most urgent one first.

    Each source is read in a separate thread as fast as possible, so that an instance with a high `priority`
    overtakes earlier ones. Instances of equal priority keep their order. Each is yielded once.

    >>> low, high = Instance("a", Path("/a")), Instance("b", Path("/b"), priority=2.0)
    >>> arrivals = Arrivals(iter([low, high, low]))
    >>> arrivals.wait()
    >>> [one.name for one in arrivals]
    ['b', 'a']
    """

    def __init__(self, *sources: Iterator[Instance]) -> None:
        self._waiting: PriorityQueue[tuple[float, int, Instance | BaseException | None]] = PriorityQueue()
        """With an error first of all, and None, for a source that has ended, last."""
        self._numbers, self._seen = itertools.count(), set[str]()
        self._open = len(sources)
        # They must not keep the process alive: one may wait forever.
        self._readers = [Thread(target=self._read, args=(source,), daemon=True) for source in sources]
        for reader in self._readers:
            reader.start()

    def _read(self, source: Iterator[Instance]) -> None:
        try:
            for instance in source:
                self._waiting.put((-instance.priority, next(self._numbers), instance))
        except BaseException as error:
            self._waiting.put((-math.inf, next(self._numbers), error))
        self._waiting.put((math.inf, next(self._numbers), None))

    def wait(self) -> None:
        for reader in self._readers:
            reader.join()

    def __iter__(self) -> Iterator[Instance]:
        return self

    def __next__(self) -> Instance:
        while self._open:
            _, _, came = self._waiting.get()
            if came is None:
                self._open -= 1
            elif isinstance(came, BaseException):
                raise came
            elif came.name not in self._seen:
                self._seen.add(came.name)
                return came
        raise StopIteration


def watched(folder: Path, patterns: tuple[str, ...]) -> Iterator[Instance]:
    """Yield the files of a folder and those added to it later, without end.

    A file that is still being written waits until it no longer changes. Hidden files, which copying programs
    write to, are skipped.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder to watch")
    return _looks(folder, patterns)


def _looks(folder: Path, patterns: tuple[str, ...]) -> Iterator[Instance]:
    before: dict[Path, tuple[int, int]] = {}
    taken: set[Path] = set()
    while True:
        now: dict[Path, tuple[int, int]] = {}
        with suppress(OSError):  # a file has just been removed: the next scan will show the others
            for path in _matching(folder, patterns):
                if path not in taken and not path.name.startswith("."):
                    found = path.stat()
                    now[path] = (found.st_size, found.st_mtime_ns)
        for path in sorted(now):
            if before.get(path) == now[path] or time.time() - now[path][1] / 1e9 > SETTLED:
                taken.add(path)
                yield Instance(str(path), path.absolute())
        before = now
        time.sleep(LOOK_EVERY)
