"""What a Dask worker does with a cell."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from distributed import get_worker

from tailcut.bench.execution import guarded, import_selectors
from tailcut.bench.plan import Cell, Contender
from tailcut.bench.store import Result
from tailcut.errors import InputError
from tailcut.scenarios import Scenario

_one_at_a_time = threading.Lock()
"""Cells in threads of one process would wait for the interpreter lock, which would distort their times."""
_held: dict[str, Scenario] = {}


@cache
def identity(contender: Contender) -> dict[str, Any]:
    """Return what must be the same on client and worker: the deciding code and its libraries."""
    code, libraries = contender.fingerprint()
    return {"code": code[:12], **libraries}


def handed_on(content: bytes) -> bytes:
    """Return a pickled scenario: a task whose result the cells depend on."""
    return content


def compute_here(
    cell: Cell, digest: str, content: bytes, expected: dict[str, Any], modules: Sequence[str] = ()
) -> Result:
    """Return the result of one cell, computed by this worker; `modules` may register its selector."""
    import_selectors(modules)
    found = identity(cell.contender)
    if found != expected:
        raise InputError(
            f"Dask worker {get_worker().address} has {_words(found)}; here it is {_words(expected)}: "
            "results would not be those of this code; install the same versions on the workers"
        )
    with _one_at_a_time:
        _one_blas_thread()
        return guarded(cell, lambda: _unpacked(digest, content))


def _words(identity: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in identity.items())


def _unpacked(digest: str, content: bytes) -> Scenario:
    """Return the scenario of the last cell, or a new one in its place: cells come scenario by scenario."""
    if digest not in _held:
        _held.clear()
        _held[digest] = pickle.loads(content)
    return _held[digest]


@cache
def _one_blas_thread() -> None:
    """Limit BLAS for good; workers started with a nanny have it so already."""
    import scipy.linalg  # noqa: F401 - brings its own BLAS, which must be loaded to be limited
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
