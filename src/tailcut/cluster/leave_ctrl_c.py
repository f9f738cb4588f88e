"""Preloaded by workers of our own: Ctrl-C in the terminal reaches them too, and is the client's business."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(_worker: Any) -> None:
    """Ignore Ctrl-C; Dask calls this, by its name, when a worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
