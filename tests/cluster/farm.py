"""A Dask cluster on this machine: a scheduler and workers, each a process of its own, on 127.0.0.1 only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client


class Farm:
    """Processes of a cluster; those that were killed can be replaced."""

    def __init__(self, folder: Path, *, workers: int, preload: str = "", forgiving: int = 3) -> None:
        self.folder, self.size, self.preload = folder, workers, preload
        self.environment = os.environ | {
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(forgiving),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._file = folder / "scheduler.json"
        self._log = (folder / "farm.log").open("ab")
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(self._file),
        )  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []
        wait_for(self._file.exists, "the scheduler")
        self.restore()

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        code = (  # it dies with the tests, whatever ends them
            f"from tailcut.live.limits.tree import die_with_parent; die_with_parent({os.getpid()})\n"
            f"from distributed.cli.{program} import main; main()"
        )
        return subprocess.Popen(
            [sys.executable, "-c", code, *options],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def restore(self) -> None:
        """Bring the farm to its size again and wait until all of it is there."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        more = ["--preload", self.preload] if self.preload else []
        while len(self.workers) < self.size:
            worker = self._start(
                "dask_worker", "--scheduler-file", str(self._file), "--host", "127.0.0.1", "--nthreads", "1",
                "--no-nanny", "--no-dashboard", "--death-timeout", "120",
                "--local-directory", str(self.folder), *more,
            )  # fmt: skip
            self.workers.append(worker)
        with self.client() as client:
            wait_for(lambda: len(client.nthreads()) == self.size, "the workers")

    @property
    def address(self) -> str:
        return str(json.loads(self._file.read_text())["address"])

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.address, timeout=60) as client:
            yield client

    def tasks(self) -> list[str]:
        """Return the keys that the scheduler holds."""
        with self.client() as client:
            held: list[str] = client.run_on_scheduler(  # a lambda: the scheduler cannot import the tests
                lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks]
            )
        return held

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait(60)
        self._log.close()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited unsuccessfully for {what}"
        time.sleep(0.02)
