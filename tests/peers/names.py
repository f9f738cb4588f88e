"""The rows of this folder's tests, and a word where their libraries are missing."""

from __future__ import annotations

import pytest

from tailcut.catalogue import recipe

LEARNING_ONLINE = (
    "vw",
    "vw_squarecb",
    "mabwiser_lingreedy",
    "mabwiser_linucb",
    "mabwiser_lints",
    "river_forests",
    "extra_trees",
)
"""One pick per instance, learned outcome by outcome."""

SCHEDULES = ("medley_nearest", "medley_thompson", "medley_exp3", "online_greedy")
"""Several runs per instance; no library needed."""


def needs(name: str) -> None:
    """Skip the test where the library of a row is missing, with the reason."""
    if recipe(name).missing:
        pytest.skip(f"{name} {recipe(name).missing}")
