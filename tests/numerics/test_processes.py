"""Work in processes: all of it, one BLAS thread each, errors passed on, nothing left behind.

The functions are the standard library's, since a spawned process must be able to import them.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailcut.errors import WorkerDiedError
from tailcut.numerics.processes import unordered
from tests.leftovers import none_of_session


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


CALLER = """
from pathlib import Path
from time import sleep
from tailcut.numerics.processes import unordered

if __name__ == "__main__":
    for _ in unordered(sleep, [0.0, 0.0, 60.0, 60.0, 60.0], jobs=2):
        print("begun", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_processes_end_with_a_caller_that_is_killed(number: int, tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, start_new_session=True) as caller:
        assert caller.stdout is not None
        assert [caller.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        caller.send_signal(number)
        caller.wait(30)
        assert none_of_session(caller.pid), "workers outlived their caller"


def test_an_end_of_file_in_the_work_is_not_the_end_of_a_process() -> None:
    with pytest.raises(EOFError, match="Ran out of input") as raised:
        list(unordered(pickle.loads, [b""], jobs=1))
    assert "in _answer" in raised.value.__notes__[0], "where it happened"


def test_large_things_cross_in_both_directions() -> None:
    large = ["x" * 1_000_000] * 5
    assert list(unordered(str.upper, large, jobs=2)) == ["X" * 1_000_000] * 5


def test_nothing_is_kept_in_shared_memory_that_a_kill_would_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.synchronize, "SemLock", None)  # as where there is no /dev/shm
    assert sorted(unordered(abs, [-1, -2, -3], jobs=2)) == [1, 2, 3]
