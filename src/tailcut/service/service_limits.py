"""What a client may ask for at most: nobody who holds a token can fill memory or disk by one request."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES = 10_000
"""Length of a feature vector."""
LARGEST = 1e100
"""Size of a feature's value: its square must be a number."""
SECONDS = 1e9
"""Cutoffs and runtimes; thirty years."""
ALGORITHMS = 1_000
BATCH = 1_000
"""Requests in one batch."""
NAME = 64
"""Letters of a project's name."""
ALGORITHM_NAME = 100
FEATURE_NAME = 200
INSTANCE = 1_000
KEY = 200
FIT_INSTANCES = 10_000
"""Instances of recorded runs in one request."""
PAGE = 1_000
"""Events on one page of the history."""
CELLS = 20_000_000
"""Algorithms times features squared, which is what a ridge model keeps: 160 MB."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """ServiceWhat `tailcut serve` can set."""

    body_bytes: int = 16 * 1024 * 1024
    projects: int = 100
    pending: int = 100_000
    """How many decisions a project may let wait; beyond its own number the oldest is given up."""
    waiting_requests: int = 1_000
    """Requests that wait for their turn; further ones are refused."""
    streams: int = 32
    """Live streams at the same time."""
    snapshot_every: int = 5_000
    """Events between two snapshots of a project: so many are repeated at most after a crash."""
