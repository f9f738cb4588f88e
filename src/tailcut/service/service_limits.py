"""Limits on requests: no single request can fill memory or disk."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES = 10_000
"""Length of a feature vector."""
SECONDS = 1e9
"""Cutoffs and runtimes; thirty years."""
ALGORITHMS = 1_000
BATCH = 1_000
"""Requests in one batch."""
PATH_NAME = 200
"""Letters of what stands in a path for a project's name."""
ALGORITHM_NAME = 100
FIT_INSTANCES = 10_000
"""Instances of recorded runs in one request."""
CELLS = 20_000_000
"""Algorithms times features squared, which is what a ridge model keeps: 160 MB."""

PARTS = 250_000
"""Fields, lists or objects in one body: they take far longer to read than numbers do."""
MEMORY_CELLS = 50_000_000
"""Instances that a model remembers times features, or times trees and algorithms: 400 MB when it is full."""

PENDING_CELLS = 50_000_000
"""Decisions that may wait times features, which is what a project keeps of them: 400 MB."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What `tailcut serve` can set."""

    body_bytes: int = 16 * 1024 * 1024
    projects: int = 100
    pending: int = 100_000
    """Maximum of a project's `max_pending`; beyond that number its oldest decision is dropped."""
    waiting_requests: int = 20_000
    """Requests that wait for their turn; further ones are refused."""
    bytes_under_way: int = 128 * 1024 * 1024
    """Bodies of all requests in progress; further ones are refused."""
    connections: int = 15_000
    """Connections at the same time; beyond, the one that has been idle longest is closed."""
    header_seconds: float = 20.0
    """Seconds within which a request's headers must arrive."""
    body_seconds: float = 60.0
    """Seconds within which its body must arrive."""
    idle_seconds: float = 300.0
    """Seconds after which an idle connection is closed."""
    streams: int = 32
    """Live streams at the same time."""
    snapshot_every: int = 10_000
    """Events between two snapshots of a project: at most this many are replayed after a crash."""
    stuck_seconds: float = 30.0
    """Seconds that a request may wait before the service counts as failing."""
    grace_seconds: int = 10
    """Seconds that requests in progress have when the server stops."""
    stop_seconds: float = 15.0
    """Seconds that the writer then has for what is left."""
