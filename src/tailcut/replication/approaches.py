"""The thirteen approaches of the published table by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailcut.errors import InputError
from tailcut.replication.degroote import DegrooteLinear
from tailcut.replication.linucb import LinUCB
from tailcut.replication.protocol import MakePolicy, Policy
from tailcut.replication.switches import PUBLISHED, Switches
from tailcut.replication.table import Table
from tailcut.replication.thompson import Thompson

DEGROOTE = "degroote_epsilon_greedy_lr"

Build = Callable[[Table, np.random.RandomState, Switches], Policy]


def _linucb(*, corrected: bool, randomised: bool, revisited: bool) -> Build:
    def build(table: Table, rng: np.random.RandomState, switches: Switches) -> Policy:
        return LinUCB(
            table, rng, corrected=corrected, randomised=randomised, revisited=revisited, switches=switches
        )

    return build


def _thompson(*, buckley_james: bool, revisited: bool) -> Build:
    def build(table: Table, rng: np.random.RandomState, switches: Switches) -> Policy:
        return Thompson(table, rng, buckley_james=buckley_james, revisited=revisited, switches=switches)

    return build


def _degroote(table: Table, rng: np.random.RandomState, switches: Switches) -> Policy:  # noqa: ARG001
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
    """Return what builds the approach called `name`, with the switches as published unless told.

    >>> approach("thomson")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: no published approach 'thomson'; there are: bj_thompson_rev, ...
    """
    if name not in APPROACHES:
        raise InputError(f"no published approach {name!r}; there are: {', '.join(APPROACHES)}")

    def make(table: Table, rng: np.random.RandomState) -> Policy:
        return APPROACHES[name](table, rng, switches)

    return make
