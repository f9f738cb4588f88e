"""The code behind a result: a hash of what decides, and the versions of the libraries it calls.

A stored result is valid as long as the code that made it has the same meaning. So syntax trees are hashed,
not files: docstrings, comments, layout, the words of errors and the place of a module do not count. It covers
the modules that the parts of a row come from, inside the package or outside, those of the replay, and
whatever they import, as far as it is source code; of an installed library the version counts.

What a module imports by a computed name (`importlib.import_module`) is not seen. A part without source code,
one typed into an interactive session for example, never equals any other: its results are never reused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import lru_cache, partial
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tailcut.bench.module_meaning import ModuleImport, ModuleMeaning, read_meaning
from tailcut.policies.recipes import Row

MEASURING = ("tailcut.bench.replay", "tailcut.bench.metrics")
"""The roots of every cell: the modules that replay a scenario and count its cost."""
CROSS_VALIDATING, RUNNING_EXTRA = "tailcut.bench.cross_validation", "tailcut.bench.extra_runs"
RACING, RATING = "tailcut.bench.race_replay", "tailcut.bench.quality_replay"
"""Additional roots of some cells, which do not concern the others."""
NOT_DECIDING = (
    "tailcut.catalogue",
    "tailcut.explain.explainer",
    "tailcut.explain",
    "tailcut.errors",
)
"""Imported by the deciding code without affecting decisions. Of the catalogue, one row counts, hashed
separately."""


LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages"})
"""The names of library folders, including those of the system and the user."""


class Fingerprint(NamedTuple):
    """What determines the result of a selector in addition to its input."""

    code: str
    """Hash of the syntax trees of everything that decides, learns and measures."""
    libraries: dict[str, str]
    """Version of each library that this code imports, and of Python."""


def fingerprint(
    row: Row | None,
    *,
    cross_validated: bool = False,
    runs_extra: bool = False,
    raced: bool = False,
    rated: bool = False,
) -> Fingerprint:
    """Return the fingerprint of a row of the catalogue; None: of a hindsight baseline."""
    parts = [] if row is None else list(_parts(row))
    own = {part.__module__.partition(".")[0] for part in parts} | {"tailcut"}
    found = _Closure(frozenset(own))
    found.follow(MEASURING)
    found.follow([CROSS_VALIDATING] * cross_validated + [RUNNING_EXTRA] * runs_extra + [RACING] * raced)
    found.follow([RATING] * rated)
    for part in parts:
        found.follow_part(part)
    found.libraries.update(() if row is None else row.libraries)  # imported by name, not seen above
    described = "" if row is None else _described(row)
    code = hashlib.sha256("\n".join([described, *sorted(found.digests)]).encode()).hexdigest()
    python = ".".join(map(str, sys.version_info[:2]))
    return Fingerprint(code, {"python": python, **{name: _version(name) for name in sorted(found.libraries)}})


def _parts(row: Row) -> Iterator[Any]:
    """Yield the classes and functions of a row, including the row's own class."""
    yield from (cls for cls in type(row).__mro__ if cls.__module__ not in {"builtins", "abc", "typing"})
    for one in fields(row):
        yield from _callables(getattr(row, one.name))


def _callables(value: Any) -> Iterator[Any]:
    if isinstance(value, partial):
        yield from _callables(value.func)
        for argument in (*value.args, *value.keywords.values()):
            yield from _callables(argument)
    elif isinstance(value, type) or inspect.isroutine(value):
        yield value
    elif callable(value):
        yield type(value)


def _described(row: Row) -> str:
    """Return which part fills which slot of a row; name, summary and settings are hashed elsewhere."""
    slots = {one.name: getattr(row, one.name) for one in fields(row)}
    named = {key: _named(value) for key, value in slots.items() if callable(value) or value in (True, False)}
    return repr(sorted(named.items()))


def _named(value: Any) -> str:
    if isinstance(value, partial):
        arguments = [*map(_named, value.args), *(f"{k}={_named(v)}" for k, v in value.keywords.items())]
        return f"{_named(value.func)}({', '.join(arguments)})"
    return str(getattr(value, "__qualname__", repr(value)))


class _Closure:
    """Modules reached by imports: their digests, and the libraries beyond."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        """Packages that are hashed by their source wherever they are installed."""
        self.digests: set[str] = set()
        self.libraries: set[str] = set()
        self._seen: set[str] = set()

    def follow_part(self, part: Any) -> None:
        """Add the module of a class or function; one without source equals no other."""
        known = _source_of(part.__module__) if part.__module__ in sys.modules else None
        if known is not None:
            self.follow([part.__module__])
            return
        try:
            source = inspect.getsource(part)
        except (OSError, TypeError):
            source = uuid4().hex
        self.digests.add(hashlib.sha256(source.encode()).hexdigest())

    def follow(self, names: Iterable[str]) -> None:
        """Add modules and everything they import."""
        waiting = deque(names)
        while waiting:
            name = waiting.popleft()
            if name in self._seen or _is_any(name, NOT_DECIDING):
                continue
            self._seen.add(name)
            module = self._module(name)
            if module is None:
                continue
            bound = [self._bound(one, waiting) for one in module.imports]
            content = "\n".join([*sorted(module.statements), *sorted(filter(None, bound))])
            self.digests.add(hashlib.sha256(content.encode()).hexdigest())

    def _bound(self, one: ModuleImport, waiting: deque[str]) -> str | None:
        """Return the definition of an imported name, and follow its module."""
        home, name = self._resolved(one.module, one.name)
        if _is_any(home, NOT_DECIDING):
            return None
        module = self._module(home)
        if module is None:
            return f"{one.alias} = {home}:{name}"
        waiting.append(home)
        meaning = module.statements if name is None else [module.named.get(name, "")]
        return f"{one.alias} = {hashlib.sha256(''.join(sorted(meaning)).encode()).hexdigest()}"

    def _resolved(self, module: str, name: str | None) -> tuple[str, str | None]:
        """Return where a re-exported name is defined: a module, and a name in it or None."""
        while name is not None:
            known = self._module(module)
            if known is None or name in known.named:
                break
            passed_on = known.passed_on.get(name)
            if passed_on is not None:
                module, name = passed_on
            elif _exists(f"{module}.{name}"):
                module, name = f"{module}.{name}", None
            else:
                break
        return module, name

    def _module(self, name: str) -> ModuleMeaning | None:
        """Return a module whose source is hashed; for any other, record its library."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in sys.builtin_module_names:
            return None
        found = _source_of(name)
        if found is None or (top not in self.own and _is_installed(found)):
            self.libraries.add(top)
            return None
        return read_meaning(found, name, found.stat().st_mtime_ns)


def _is_any(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _source_of(name: str) -> Path | None:
    """Return the source file of a module, also of a compiled one where it is there; None if it has none."""
    loaded = sys.modules.get(name)
    file = getattr(loaded, "__file__", None)
    if loaded is None and _exists(name):
        spec = importlib.util.find_spec(name)
        file = None if spec is None else spec.origin
    if file is None or not Path(file).is_file():
        return None
    if file.endswith(tuple(EXTENSION_SUFFIXES)):
        source = Path(file).with_name(f"{name.rpartition('.')[2]}.pyx")
        return source if source.is_file() else Path(file)
    return Path(file) if file.endswith(".py") else None


def _exists(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@lru_cache
def _installed_folders() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")})


def _is_installed(file: Path) -> bool:
    """Return whether a file belongs to a library; it may be borrowed from another environment."""
    file = file.resolve()
    borrowed = not LIBRARY_FOLDERS.isdisjoint(file.parts)
    return borrowed or any(file.is_relative_to(folder) for folder in _installed_folders())


@lru_cache
def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        names = packages_distributions().get(library, [])
        return " ".join(version(name) for name in names) or "unknown"
