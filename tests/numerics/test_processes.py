"""Work in processes: all of it, one BLAS thread each, errors passed on, nothing left behind.

The functions are the standard library's, since a spawned process must be able to import them.
"""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from tailcut.errors import WorkerDiedError
from tailcut.numerics.processes import unordered


def test_every_item_is_answered_once() -> None:
    assert sorted(unordered(abs, range(-25, 0), jobs=2)) == list(range(1, 26))
    assert list(unordered(abs, [], jobs=2)) == []


def test_processes_have_one_blas_thread_and_the_parent_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert set(unordered(os.getenv, ["OPENBLAS_NUM_THREADS"] * 3, jobs=2)) == {"1"}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_an_error_is_passed_on() -> None:
    with pytest.raises(ValueError, match="seven"):
        list(unordered(int, ["seven"], jobs=1))


def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(WorkerDiedError, match="worker process died"):
        list(unordered(os._exit, [1] * 20, jobs=2))


def test_closing_early_ends_the_processes_at_once() -> None:
    answers = unordered(time.sleep, [0.0, 60.0, 60.0], jobs=2)
    next(answers)
    workers = [process.pid for process in multiprocessing.active_children()]
    assert workers
    answers.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 30
    while any(_exists(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_exists(worker) for worker in workers), "waited for work that was not wanted"


def _exists(process: int | None) -> bool:
    """Ask the system, not multiprocessing: two of its threads may wait for the same child."""
    assert process is not None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
