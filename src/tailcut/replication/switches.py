"""Where the published table departs from the paper's formulas, each departure a switch.

The defaults reproduce the table. Turning one switch to the value in `PAPER` puts the paper's formula in
that one place; `docs/background/replication.md` shows what each does to the numbers.

Sources: the paper's formulas are those of Tornede, Bengs, Hüllermeier, "Machine Learning for Online
Algorithm Selection under Censored Feedback", AAAI 2022. The departures were found by re-running; that
an untried algorithm has a finite score (`untried_are_forced`) is read off the authors' public code
(github.com/alexandertornede/online_as).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Switches:
    """One field per departure; the default is what the table was made with."""

    first_outcome_goes_to_last: bool = True
    """The first outcome, of algorithm 0, is booked on algorithm K-1. Paper: on the one that ran."""

    untried_are_forced: bool = False
    """Paper: each algorithm is run once before any score counts. Table: an untried algorithm has a very
    low score (-1.1e6 for LinUCB, -1e6 for Thompson), and a score below that is run in its place; the
    bias-corrected `*_rev` scores often are."""

    means_of_observed_only: bool = False
    """Paper: a missing feature takes the mean of the values seen. Table: of the values seen and those
    put in for missing ones before."""

    zero_vector_is_nan: bool = True
    """LinUCB divides an all-zero vector by its norm: 0/0. The nan then stays in the model of the
    algorithm that ran, and numpy's argmin chooses that algorithm ever after. Paper: says nothing; the
    vector stays zero here. (Thompson has a guard, a first entry of 1e-9.)"""

    reaching_cutoff_is_censored: bool = True
    """m >= C is censored. Paper: m > C."""

    width_adds_one: bool = False
    """Bias-corrected width (1 + 2 log(C) sqrt(n_c)) w. Table: without the 1, so an algorithm that never
    timed out has width 0."""

    rand_scale: float = 0.25
    """Standard deviation of the half-normal factor. Paper: variance 0.25, so 0.5."""

    penalty_is_log: bool = True
    """`*_rev` charges log(10 C) for a timeout next to an expected time in seconds. Paper: 10 C."""

    tail_uses_variance: bool = True
    """thompson_rev divides by the variance, not the deviation, in the probability of a timeout."""

    half_shift: bool = True
    """thompson_rev shifts by half the variance in the numerator of E_C. Paper: by the variance."""

    bj_gives_up: bool = True
    """Buckley-James draws 20 times and imputes log C if the first 19 stay below it. Paper: draws until
    one exceeds log C (here at once, by inversion)."""


PUBLISHED = Switches()
"""What reproduces the table."""

PAPER = Switches(
    first_outcome_goes_to_last=False,
    untried_are_forced=True,
    means_of_observed_only=True,
    zero_vector_is_nan=False,
    reaching_cutoff_is_censored=False,
    width_adds_one=True,
    rand_scale=0.5,
    penalty_is_log=False,
    tail_uses_variance=False,
    half_shift=False,
    bj_gives_up=False,
)
"""The paper's formulas everywhere."""


def one_turned_back() -> dict[str, Switches]:
    """Return, per switch, the published settings with that one switch as in the paper.

    >>> one_turned_back()["rand_scale"].rand_scale
    0.5
    """
    names = [field.name for field in fields(Switches)]
    return {name: replace(PUBLISHED, **{name: getattr(PAPER, name)}) for name in names}
