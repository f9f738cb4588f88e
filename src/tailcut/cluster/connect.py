"""Connects to a Dask cluster: a running one, or a temporary one on this machine."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tailcut.errors import InputError, MissingExtraError

try:
    import dask
    from distributed import Client, LocalCluster
except ImportError as missing:
    raise MissingExtraError(
        "running on Dask needs the extra 'dask': pip install 'tailcut[dask]'"
    ) from missing

_log = logging.getLogger("tailcut.cluster")
_PATIENCE = 15.0
"""Seconds for a scheduler to answer."""
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
"""Scenarios and instances are part of what is sent on purpose: that way they outlive their workers."""


@contextmanager
def connected(scheduler: str | None, *, workers: int) -> Iterator[Client]:
    """Connect to the scheduler at an address, or start `workers` here and end them afterwards.

    The size of the cluster and the address of its dashboard are logged.
    """
    with dask.config.set(_SETTINGS):
        if scheduler is None:
            with _own_cluster(workers) as cluster, Client(cluster) as client, _quiet_end():
                _log.info(_described(client))
                yield client
        else:
            with _client_of(scheduler) as client, _quiet_end():
                _log.info(_described(client))
                yield client


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Keep the loop from printing what it was still waiting for when the client is closed next."""
    try:
        yield
    finally:
        logging.getLogger("tornado.application").setLevel(logging.CRITICAL)


def _own_cluster(workers: int) -> LocalCluster:
    """Start a scheduler in this process and workers beside it, reachable from this machine alone.

    Like that of local processes, their memory is not limited.
    """
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=logging.ERROR,
        preload=["tailcut.cluster.ignore_ctrl_c"],
    )


def _client_of(scheduler: str) -> Client:
    try:
        return Client(scheduler, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"--scheduler {scheduler}: no Dask scheduler answers there; expected its address, "
            f"like tcp://127.0.0.1:8786 ({type(error).__name__})"
        ) from None


def _described(client: Client) -> str:
    threads = client.nthreads()
    link = client.dashboard_link
    size = f"{len(threads)} workers with {sum(threads.values())} threads" if threads else "no workers yet"
    return f"Dask: {size}; dashboard: {link or 'none'}"


class Capacity:
    """How many tasks a cluster can run at once, refreshed from time to time, since workers come and go."""

    def __init__(self, client: Client, every: float = 5.0) -> None:
        self._client, self._every = client, every
        self._asked, self._threads = float("-inf"), 0

    def threads(self) -> int:
        """Return the threads of all workers together."""
        if time.monotonic() - self._asked > self._every:
            self._threads = sum(self._client.nthreads().values())
            self._asked = time.monotonic()
        return self._threads
