"""The catalogue: complete, described truly, and open to new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tailcut import CATALOGUE, Recipe, ScheduleRecipe, Selector, register
from tailcut.catalogue import BASELINES, recipe
from tailcut.errors import InputError
from tailcut.policies.recipes import Row

PUBLISHED = [
    "thompson",
    "thompson_rev",
    "bj_thompson",
    "bj_thompson_rev",
    "blinducb",
    "blinducb_rev",
    "bclinucb",
    "bclinucb_rev",
    "rand_blinducb",
    "rand_blinducb_rev",
    "rand_bclinucb",
    "rand_bclinucb_rev",
    "degroote_epsilon_greedy_lr",
    "degroote_epsilon_greedy_rf",
    "degroote_ucb_rf",
    "epsilon_greedy",
    "random",
]


def test_every_published_name_is_there() -> None:
    assert set(PUBLISHED) <= set(CATALOGUE)
    assert set(BASELINES) == {"oracle", "sbs", "sbs_train", "sbs_pair", "sbs_schedule"}


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=lambda row: row.name)
def test_every_hyperparameter_reaches_a_part(row: Recipe | ScheduleRecipe) -> None:
    if "feature_share" in row.hyperparameters:
        assert Selector(row, ["a"], 60.0, feature_share=0.25).feature_budget() == 15.0
    with pytest.raises(InputError, match=rf"{row.name}: no part has a hyperparameter 'rigde'; they have: "):
        replace(row, hyperparameters={**row.hyperparameters, "rigde": 1.0})


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=lambda row: row.name)
def test_every_hyperparameter_is_taken_over(row: Row) -> None:
    changed: dict[str, Any] = {
        name: 2 if isinstance(value, int) else 2.5 if name == "penalty" else 0.25
        for name, value in row.hyperparameters.items()
    }
    selector = Selector(row.name, ["a"], 1.0, **changed)
    assert changed.items() <= selector.hyperparameters.items()


def test_hyperparameters_as_published() -> None:
    """The settings of the paper's appendix; its half-normal variance 0.25 is a deviation of 0.5."""
    for name in PUBLISHED[:12]:
        given = CATALOGUE[name].hyperparameters
        thompson = "thompson" in name
        assert given["ridge"] == (0.5 if thompson else 1.0)
        assert given.get("noise_variance") == (1.0 if thompson else None)
        assert given.get("noise", 10.0) == 10.0
        assert given.get("alpha", 1.0) == 1.0
        assert given.get("rand_sigma") == (0.5 if name.startswith("rand") else None)
        assert given.get("penalty") == (10.0 if name.endswith("_rev") else None)


def test_only_the_forests_are_unbounded() -> None:
    assert {name for name, row in CATALOGUE.items() if not row.bounded} == {
        "degroote_epsilon_greedy_rf",
        "degroote_ucb_rf",
    }


def test_a_row_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.catalogue.CATALOGUE", dict(CATALOGUE))
    mine = replace(recipe("thompson"), name="mine", hyperparameters={"ridge": 3.0, "noise_variance": 0.1})
    register(mine)
    assert Selector("mine", ["a"], 1.0).hyperparameters["ridge"] == 3.0
    for taken in (mine, replace(mine, name="oracle")):
        with pytest.raises(InputError, match="already"):
            register(taken)
