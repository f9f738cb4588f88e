"""Rows and their hyperparameters: declared by the parts, bounded beside the parameter, all consumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import pytest

from tailcut import CATALOGUE, Decision, Outcome, Recipe, Selector
from tailcut.errors import InputError
from tailcut.models import ResidualLayers
from tailcut.numerics.ranges import Range
from tailcut.policies.censoring import Drop
from tailcut.policies.exploration import ForcedExploration, Greedy, Thompson
from tailcut.policies.losses import BoundedLoss
from tailcut.policies.one_pick import OnePick
from tailcut.policies.recipes import declared
from tailcut.types import Belief, Estimate

THOMPSON = CATALOGUE["thompson"]
assert isinstance(THOMPSON, Recipe)


@dataclass(frozen=True)
class Leaning(Greedy):
    """An exploration with a text and a bounded number."""

    side: str = "first"
    strength: Annotated[float, Range(at_least=0.5, below=2.0)] = 1.0

    def estimate(self, belief: Belief, cutoff: float, rng: Any) -> Estimate:
        found = super().estimate(belief, cutoff, rng)
        low = found.low.copy()
        low[0 if self.side == "first" else -1] -= 1e6 * self.strength
        return found._replace(low=low)


def _leaning(**hyperparameters: Any) -> Recipe:
    assert isinstance(THOMPSON, Recipe)
    return replace(
        THOMPSON,
        name="leaning",
        exploration=Leaning,
        first_runs=partial(ForcedExploration, pace=0.0),
        hyperparameters={"ridge": 1.0, **hyperparameters},
    )


def test_texts_are_hyperparameters_too() -> None:
    row = _leaning(side="first")
    for side, expected in (("first", "a"), ("last", "c")):
        assert Selector(row, ["a", "b", "c"], 10.0, side=side).select([1.0]).algorithm == expected
    with pytest.raises(InputError, match="leaning: side must be a text, got 3") as error:
        Selector(row, ["a"], 10.0, side=3)
    assert error.value.field == "hyperparameters"
    again = Selector(row, ["a", "b", "c"], 10.0, side="last").hyperparameters
    assert again["side"] == "last"


def test_bounds_stand_beside_the_parameter() -> None:
    row = _leaning(strength=1.0)
    Selector(row, ["a"], 10.0, strength=0.5)
    for wrong in (0.49, 2.0, float("nan"), -1e300):
        with pytest.raises(InputError, match=r"leaning: strength must be a finite number >= 0\.5 and < 2"):
            Selector(row, ["a"], 10.0, strength=wrong)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_number_of_the_catalogue_has_bounds(name: str) -> None:
    """So nobody can ask for 1e100 trees, or for a penalty of 0."""
    row = CATALOGUE[name]
    known = row._declared()
    for key, value in {**row.hyperparameters, **row.options}.items():
        if key == "favourite":  # a name, checked against the algorithms
            continue
        assert not isinstance(value, str)
        found = known[key].range
        assert value in found, f"{name}: the default {value} of {key} is not {found}"
        assert 1e100 not in found, f"{name}: {key} may be as large as you like"
        assert -1.0 not in found, f"{name}: {key} may be negative"


def test_a_hyperparameter_that_no_part_has_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no part has a hyperparameter 'rigde'; they have: .*ridge"):
        _leaning(rigde=1.0)
    with pytest.raises(InputError, match="no part has a hyperparameter 'alpha'"):
        replace(CATALOGUE["round_robin"], hyperparameters={"alpha": 1.0})


def test_what_the_recipe_fills_in_is_no_hyperparameter() -> None:
    assert set(declared(Thompson)) == {"noise_variance"}
    assert set(declared(partial(ForcedExploration, in_order=False))) == {"pace", "again"}
    assert {"n_algorithms", "seed", "parts"}.isdisjoint(declared(OnePick))


@pytest.mark.parametrize("name", CATALOGUE)
def test_features_can_be_switched_off_where_something_is_left(name: str) -> None:
    row = CATALOGUE[name]
    if not row.needs_features:
        with pytest.raises(InputError, match="no hyperparameter 'representation'"):
            Selector(name, ["a", "b"], 60.0, representation="none")
        return
    if not row.works_without_features:
        with pytest.raises(InputError, match=f"{name}: representation must be one of paper, .*'none'"):
            Selector(name, ["a", "b"], 60.0, representation="none")
        return
    selector = Selector(name, ["bad", "good"], 60.0, representation="none")
    assert (selector.needs_features, selector.feature_budget()) == (False, 0.0)
    wasted = np.zeros(60)
    for instance in range(60):
        decision: Decision | None = selector.select()
        while decision is not None:
            good = decision.algorithm == "good"
            wasted[instance] += 0.0 if good else decision.budget
            selector.observe(decision, Outcome.solved(1.0) if good else Outcome.censored(decision.budget))
            decision = selector.proceed(decision)
    assert wasted[30:].sum() < 5.0 * selector.cutoff, "of thirty cutoffs"
    assert Selector.from_bytes(selector.to_bytes()).select().algorithm == selector.select().algorithm


def test_runs_that_teach_nothing_are_not_learned_as_successes() -> None:
    """A windowed lesson of weight 0 was learned as a loss of 0: 60 timeouts made a bad solver good."""
    row = CATALOGUE["tailcut"]
    assert isinstance(row, Recipe)
    selector = Selector(replace(row, name="blind", censoring=Drop), ["a", "b"], 60.0, window=100)
    for _ in range(60):
        selector.observe(selector.select([1.0, 2.0], among=["a"]), censored_at=60.0)
    policy = selector._policy
    assert isinstance(policy, OnePick)
    assert isinstance(policy.model, ResidualLayers)
    assert isinstance(policy.parts.target, BoundedLoss)
    assert policy.model.arms.runs.tolist() == [0.0, 0.0]
    assert policy.model.memory.kept == 60
    assert policy.model.predict(np.empty(0))[0].tolist() == pytest.approx([0.5, 0.5], abs=0.05)
