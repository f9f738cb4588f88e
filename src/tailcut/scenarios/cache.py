"""The cache of read scenarios: one file each, named by a digest of the bytes it was read from.

The digest covers the content of every file that is read, and the version of the reader, so an entry is
never stale, however a file was replaced. Digesting costs little (about a gigabyte per second); parsing is
what the cache saves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.errors import TailcutError
from tailcut.scenarios.scenario import FeatureStep, Scenario

READER_VERSION = 2
"""Raise it whenever the same files would be read as something else, or kept in another form."""


def user_cache() -> Path:
    """Return Tailcut's folder for what can be made again: TAILCUT_CACHE, or the system's usual place."""
    own = os.environ.get("TAILCUT_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "tailcut"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tailcut" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tailcut"
    return Path.home() / ".cache" / "tailcut"


def key(files: dict[str, bytes]) -> str:
    """Return the digest of file names, contents and reader version.

    >>> key({"a": b"bc"}) == key({"ab": b"c"})
    False
    """
    digest = hashlib.sha256(f"tailcut scenario {READER_VERSION}\n".encode())
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])}\n".encode())
        digest.update(files[name])
    return digest.hexdigest()


def get(key: str) -> Scenario | None:
    """Return the scenario kept under `key`; None if there is none, or it is damaged."""
    try:
        return _from_state(statefile.unpack(_entry(key).read_bytes()))
    except (OSError, TailcutError, AttributeError, LookupError, TypeError, ValueError, RuntimeError):
        return None


def put(key: str, scenario: Scenario) -> None:
    """Keep a scenario; where the cache cannot be written, skip it.

    The entry appears by renaming a finished file, so of two processes that write it at once one comes
    last, and a reader sees one or the other, whole.
    """
    with contextlib.suppress(OSError, RuntimeError):
        entry = _entry(key)
        entry.parent.mkdir(parents=True, exist_ok=True)
        statefile.write(entry, statefile.pack(_to_state(scenario)))


def _entry(key: str) -> Path:
    return user_cache() / "aslib" / f"{key}.scenario"


def _to_state(scenario: Scenario) -> dict[str, Any]:
    state = dict(vars(scenario))
    truths = state.pop("ground_truth")
    state["feature_steps"] = {str(i): dict(vars(step)) for i, step in enumerate(scenario.feature_steps)}
    # Names are values here, not keys: a key of their own could be one the file format uses itself.
    state["truth_names"] = None if truths is None else list(truths)
    state["truths"] = {str(i): column for i, column in enumerate((truths or {}).values())}
    return state


def _from_state(state: dict[str, Any]) -> Scenario:
    names, truths, steps = (state.pop(name) for name in ("truth_names", "truths", "feature_steps"))
    return Scenario(
        **_with_tuples(state),
        feature_steps=tuple(FeatureStep(**_with_tuples(step)) for step in steps.values()),
        ground_truth=None if names is None else dict(zip(names, _with_tuples(truths).values(), strict=True)),
    )


def _with_tuples(state: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}
