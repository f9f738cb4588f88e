"""What a project's description says: how its selector is made, and how its history is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailcut.selector import Selector

NEEDS_HISTORY = "needs_history"
"""Field of a description: whether the project's users go by its events, so that none may be dropped."""
MAX_PENDING = 10_000
"""How many decisions wait at most, where a project's description does not say."""


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
