"""The rows of the catalogue pass every check: one row for each distinct set of parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tailcut.catalogue import CATALOGUE
from tailcut.policies.censoring import MomentMatching
from tailcut.policies.recipes import Recipe
from tailcut.testing import CHECKS, Factory, factory
from tests.distinct_parts import distinct_rows


def _recipe(name: str) -> Recipe:
    row = CATALOGUE[name]
    assert isinstance(row, Recipe)
    return row


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", distinct_rows(CATALOGUE))
def test_selector_conforms(name: str, check: Callable[[Factory], None]) -> None:
    check(factory(name, **({"trees": 5} if "trees" in CATALOGUE[name].hyperparameters else {})))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule"])  # for a ridge, it is bounded_thompson above
def test_selector_conforms_standardised(name: str, check: Callable[[Factory], None]) -> None:
    check(factory(name, representation="standardised"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_moment_matching_conforms(check: Callable[[Factory], None], monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(_recipe("thompson_rev"), name="mine", censoring=MomentMatching)
    monkeypatch.setitem(CATALOGUE, "mine", row)  # saved by name, so it must be known by name
    check(factory("mine"))


def test_an_unbounded_selector_that_claims_to_be_bounded_is_caught() -> None:
    from tailcut.models import Forests
    from tailcut.testing import bounded_memory

    class Pretender(Forests):
        bounded = True

    with pytest.raises(AssertionError, match="grows with the stream"):
        bounded_memory(factory(replace(_recipe("degroote_epsilon_greedy_rf"), model=Pretender), trees=1))


def test_a_selector_that_ignores_its_seed_is_caught() -> None:
    import numpy as np

    from tailcut.policies.exploration import Uniform
    from tailcut.testing import same_seed_same_choices
    from tailcut.types import Belief, Estimate

    class Unseeded(Uniform):
        def estimate(self, belief: Belief, cutoff: float, rng: np.random.Generator) -> Estimate:
            return Uniform.estimate(self, belief, cutoff, np.random.default_rng())

    with pytest.raises(AssertionError, match="same seed"):
        same_seed_same_choices(factory(replace(_recipe("random"), exploration=Unseeded)))
