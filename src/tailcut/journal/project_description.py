"""A project's description: how its selector is created, and how its history is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailcut.selector import Selector

NEEDS_HISTORY = "needs_history"
"""Field of a description: whether the project's users rely on its events, so that none may be dropped."""
MAX_PENDING = 10_000
"""The default maximum number of waiting decisions."""


def make(description: Mapping[str, Any]) -> Selector:
    """Return a new selector as a project's description says."""
    return Selector(
        description["selector"],
        description["algorithms"],
        description["cutoff"],
        seed=description.get("seed", 0),
        feature_names=description.get("feature_names"),
        max_pending=description.get("max_pending", MAX_PENDING),
        **description.get("hyperparameters", {}),
    )
