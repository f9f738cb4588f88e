"""The thirteen approaches of the published table by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tailcut.errors import InputError
from tailcut.replication.degroote import DegrooteLinear
from tailcut.replication.linucb import LinUCB
from tailcut.replication.protocol import ExperimentData, MakePolicy, PublishedPolicy
from tailcut.replication.switches import PUBLISHED, Switches
from tailcut.replication.thompson import ThompsonBandit

DEGROOTE = "degroote_epsilon_greedy_lr"

Build = Callable[[ExperimentData, np.random.RandomState, Switches], PublishedPolicy]


def _linucb(*, corrected: bool, randomised: bool, revisited: bool) -> Build:
    def build(table: ExperimentData, rng: np.random.RandomState, switches: Switches) -> PublishedPolicy:
        return LinUCB(
            table, rng, corrected=corrected, randomised=randomised, revisited=revisited, switches=switches
        )

    return build


def _thompson(*, buckley_james: bool, revisited: bool) -> Build:
    def build(table: ExperimentData, rng: np.random.RandomState, switches: Switches) -> PublishedPolicy:
        return ThompsonBandit(table, rng, buckley_james=buckley_james, revisited=revisited, switches=switches)

    return build


def _degroote(table: ExperimentData, rng: np.random.RandomState, switches: Switches) -> PublishedPolicy:  # noqa: ARG001
    return DegrooteLinear(table, rng)


APPROACHES: dict[str, Build] = {
    "bj_thompson_rev": _thompson(buckley_james=True, revisited=True),
    "bj_thompson": _thompson(buckley_james=True, revisited=False),
    "thompson_rev": _thompson(buckley_james=False, revisited=True),
    "thompson": _thompson(buckley_james=False, revisited=False),
    "bclinucb_rev": _linucb(corrected=True, randomised=False, revisited=True),
    "bclinucb": _linucb(corrected=True, randomised=False, revisited=False),
    "blinducb_rev": _linucb(corrected=False, randomised=False, revisited=True),
    "blinducb": _linucb(corrected=False, randomised=False, revisited=False),
    "rand_bclinucb_rev": _linucb(corrected=True, randomised=True, revisited=True),
    "rand_bclinucb": _linucb(corrected=True, randomised=True, revisited=False),
    "rand_blinducb_rev": _linucb(corrected=False, randomised=True, revisited=True),
    "rand_blinducb": _linucb(corrected=False, randomised=True, revisited=False),
    DEGROOTE: _degroote,
}
"""In the order of the published table's columns."""


def approach(name: str, switches: Switches = PUBLISHED) -> MakePolicy:
    """Return what builds the approach called `name`, with the switches as published by default.

    >>> approach("thomson")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: no published approach 'thomson'; there are: bj_thompson_rev, ...
    """
    if name not in APPROACHES:
        raise InputError(f"no published approach {name!r}; there are: {', '.join(APPROACHES)}")

    def make(table: ExperimentData, rng: np.random.RandomState) -> PublishedPolicy:
        return APPROACHES[name](table, rng, switches)

    return make


def chosen_approaches(wanted: Sequence[str] = ()) -> list[str]:
    """Return the approaches wanted, each once, or all; an unknown name is refused."""
    for name in wanted:
        if name not in APPROACHES:
            raise InputError(
                f"approach {name}: not in the published table, which has {', '.join(APPROACHES)}"
            )
    return list(dict.fromkeys(wanted)) or list(APPROACHES)
