"""Past one machine: cells of a benchmark and runs of solvers on a Dask cluster.

Here is the connection to a cluster: a running one, or a temporary one on this machine. Selectors, stores and
journals stay with the client. What happens to the cluster is logged under the name `tailcut.cluster`. Only
this package knows Dask, which is loaded when it is.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

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
    """Connect to the scheduler at an address, or start `workers` here and end them afterwards."""
    with dask.config.set(_SETTINGS), ExitStack() as stack:
        if scheduler is None:
            # Reachable from this machine alone; like that of local processes, memory is not limited.
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=logging.ERROR,
                preload=[__name__],
            )
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        else:
            client = stack.enter_context(_client_of(scheduler))
        threads = client.nthreads()
        size = f"{len(threads)} workers with {sum(threads.values())} threads" if threads else "no workers yet"
        _log.info("Dask: %s; dashboard: %s", size, client.dashboard_link or "none")
        try:
            yield client
        finally:  # keep the loop from printing what it was still waiting for when the client is closed next
            logging.getLogger("tornado.application").setLevel(logging.CRITICAL)


def _client_of(scheduler: str) -> Client:
    try:
        return Client(scheduler, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"--scheduler {scheduler}: no Dask scheduler answers there; expected its address, "
            f"like tcp://127.0.0.1:8786 ({type(error).__name__})"
        ) from None


def dask_setup(_worker: Any) -> None:
    """Ignore Ctrl-C, which the terminal also sends to our workers; Dask calls this in them, by its name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
