"""Instances that arrive while others run: growing lists and folders."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tailcut.errors import InputError
from tailcut.live.instances import Instance

LOOK_EVERY = 0.5
"""Seconds between two scans of a folder."""
SETTLED = 2.0
"""Seconds without a write after which a file counts as complete."""


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
        self._waiting: list[tuple[float, int, Instance]] = []
        self._numbers, self._seen = itertools.count(), set[str]()
        self._changed = threading.Condition()
        self._open = len(sources)
        self._error: BaseException | None = None
        for source in sources:  # they must not keep the process alive: one may wait forever
            threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: Iterator[Instance]) -> None:
        try:
            for instance in source:
                self._add(instance)
        except BaseException as error:
            self._error = error
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _add(self, instance: Instance) -> None:
        with self._changed:
            if instance.name not in self._seen:
                self._seen.add(instance.name)
                heapq.heappush(self._waiting, (-instance.priority, next(self._numbers), instance))
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all sources have ended."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open)

    def __iter__(self) -> Iterator[Instance]:
        return self

    def __next__(self) -> Instance:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or not self._open or self._error)
            if self._error is not None:
                raise self._error
            if not self._waiting:
                raise StopIteration
            return heapq.heappop(self._waiting)[2]


def watched(folder: Path, patterns: tuple[str, ...]) -> Iterator[Instance]:
    """Yield the files of a folder and those added to it later, without end.

    A file that is still being written waits until it no longer changes between two scans. Hidden files, which
    copying programs write to, are skipped.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder to watch")
    return _looks(folder, patterns)


def _looks(folder: Path, patterns: tuple[str, ...]) -> Iterator[Instance]:
    before: dict[Path, tuple[int, int]] = {}
    taken: set[Path] = set()
    while True:
        now = {path: state for path, state in _files_in(folder, patterns) if path not in taken}
        for path in sorted(now):
            size, modified = now[path]
            if before.get(path) == (size, modified) or time.time() - modified / 1e9 > SETTLED:
                taken.add(path)
                yield Instance(str(path), path.absolute())
        before = now
        time.sleep(LOOK_EVERY)


def _files_in(folder: Path, patterns: tuple[str, ...]) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        for path in folder.rglob("*"):
            hidden = path.name.startswith(".")
            if not hidden and any(fnmatch(path.name, pattern) for pattern in patterns) and path.is_file():
                found = path.stat()
                yield path, (found.st_size, found.st_mtime_ns)
    except OSError:  # a file has just been removed: the next scan will show the others
        return
