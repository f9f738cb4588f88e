"""Preloaded by workers that we start: Ctrl-C in the terminal reaches them too, but only the client acts."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(_worker: Any) -> None:
    """Ignore Ctrl-C; Dask calls this, by its name, when a worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
