"""Lessons: runs made only to learn from, on instances that are already answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tailcut.numerics import randomness
from tailcut.policies.policy import Policy
from tailcut.types import Array, Progress

SHARES = (0.1, 0.3, 1.0)
"""How long a lesson runs, as shares of the cutoff: short first, longer only where that was not enough."""
LOOKED_AT = 20
"""So many instances are compared for one lesson."""
UNIFORM_SHARE = 0.1
"""How long a lesson chosen by chance runs, as a share of the cutoff."""


class Answered(NamedTuple):
    """An instance that needs no answer any more, and on which algorithms may still be run."""

    instance: str
    features: Array | None
    """As the selector got them, shape (d,); None if it got none."""
    tried: Mapping[str, float]
    """The longest that each algorithm has run on it, in seconds; inf if it solved it."""


class Lesson(NamedTuple):
    """One run to learn from."""

    instance: str
    algorithm: str
    budget: float
    """Seconds after which it is stopped."""


def uniform_lesson(
    candidates: Sequence[Answered], algorithms: Sequence[str], cutoff: float, stream: np.random.Generator
) -> Lesson | None:
    """Return a random other algorithm on the latest of the answered instances, for a tenth of the cutoff.

    None if every algorithm has run there for that long. The baseline for choosing by worth.

    >>> latest = Answered("i2", None, {"a": float("inf"), "b": 6.0})
    >>> uniform_lesson([latest], ["a", "b", "c"], 60.0, np.random.default_rng(0))
    Lesson(instance='i2', algorithm='c', budget=6.0)
    >>> uniform_lesson([latest], ["a", "b"], 60.0, np.random.default_rng(0)) is None
    True
    """
    if not candidates:
        return None
    latest, budget = candidates[-1], UNIFORM_SHARE * cutoff
    others = [name for name in algorithms if latest.tried.get(name, 0.0) < budget]
    return Lesson(latest.instance, others[int(stream.integers(len(others)))], budget) if others else None


def next_lesson(
    policy: Policy,
    candidates: Sequence[Answered],
    features: Sequence[Array],
    algorithms: Sequence[str],
    progress: Progress,
    *,
    seed: int,
) -> Lesson | None:
    """Return the lesson that a policy would make; by chance where it knows nothing of costs.

    `features` are those of the candidates as the policy gets them. The same question gets the same answer.
    """
    made = sum(len(one.tried) for one in candidates)
    chance = randomness.stream(seed, f"lesson {made} {candidates[-1].instance if candidates else ''}")
    given = {one.instance: x for one, x in zip(candidates, features, strict=True)}

    def draw(one: Answered) -> Array:
        costs = policy.draw(policy.peek(given[one.instance]), progress, chance)
        return chance.random(len(algorithms)) if costs is None else costs

    return worthy_lesson(candidates, algorithms, progress.cutoff, draw, chance)


def worthy_lesson(
    candidates: Sequence[Answered],
    algorithms: Sequence[str],
    cutoff: float,
    draw: Callable[[Answered], Array],
    stream: np.random.Generator,
) -> Lesson | None:
    """Return the run that may teach most per second: one of an algorithm that may well be better.

    `draw` says what each algorithm may cost on an instance, drawn from all that is believed. The lesson is
    where an algorithm that has not run there comes off best against those that have, in such a draw: one of
    which little is known does so now and then, one that is known to be worse hardly ever (top-two Thompson
    sampling: Russo, "Simple Bayesian algorithms for best-arm identification", COLT 2016).
    """
    best: tuple[float, Lesson] | None = None
    chosen = stream.permutation(len(candidates))[:LOOKED_AT].tolist()
    for candidate in (candidates[i] for i in chosen):
        costs = draw(candidate)
        tried = np.array([candidate.tried.get(name, 0.0) for name in algorithms])
        reached = np.searchsorted(np.array(SHARES) * cutoff, tried, side="right")
        open_ = reached < len(SHARES)
        if not open_.any() or not (tried > 0.0).any():
            continue
        lead = np.where(open_, costs[tried > 0.0].min() - costs, -np.inf)
        # What an algorithm leads by, per second that the lesson takes.
        share = np.array([*SHARES, 1.0])[reached]
        worth = lead / share if lead.max() > 0.0 else lead * share
        number = int(worth.argmax())
        if best is None or worth[number] > best[0]:
            budget = float(share[number] * cutoff)
            best = float(worth[number]), Lesson(candidate.instance, algorithms[number], budget)
    return None if best is None else best[1]
