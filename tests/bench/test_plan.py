"""Cells: their hash covers what determines the result; contenders are parsed and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.plan import Contender, plan, scenario_digest
from tailcut.bench.sweeps import DEFAULT, PLANS, SWEEPS
from tailcut.catalogue import BASELINES, OFFLINE_PEERS, PEERS
from tailcut.errors import InputError
from tests.bench.conftest import write_scenario


def test_contenders_are_parsed_with_their_hyperparameters() -> None:
    contender = Contender.parse("thompson: noise_variance=2 , ridge=0.25")
    assert contender.label == "thompson:noise_variance=2.0,ridge=0.25"
    assert contender.settings() == {"ridge": 0.25, "noise_variance": 2.0, "representation": "paper"}
    assert (
        Contender.parse("thompson:representation=standardised").settings()["representation"] == "standardised"
    )
    assert Contender.parse("sbs").settings() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "unknown selector 'nope'"),
        ("thompson:noise_variance", "expected key=value"),
        ("thompson:alpha=1", "no hyperparameter 'alpha'"),
        ("thompson:noise_variance=big", "must be a number"),
        ("oracle:x=1", "no hyperparameters"),
    ],
)
def test_wrong_contenders_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Contender.parse(text)


def test_the_hash_covers_everything_that_determines_the_result(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path, "ONE")
    runtimes = scenario.runtimes.copy()
    runtimes[0, 0] += 1e-9
    changed = replace(scenario, runtimes=runtimes)
    assert scenario_digest(changed) != scenario_digest(scenario)
    cells = [
        *plan([("x", scenario)], [Contender.of("thompson"), Contender.of("thompson", noise_variance=2.0)], 2),
        *plan([("x", scenario)], [Contender.of("thompson")], 1, penalty=2.0),
        *plan([("x", changed)], [Contender.of("thompson")], 1),
    ]
    assert len({cell.hash for cell in cells}) == len(cells) == 6


def test_the_hash_does_not_depend_on_where_the_scenario_lies_or_how_defaults_are_spelled(
    tmp_path: Path,
) -> None:
    scenario = write_scenario(tmp_path, "ONE")
    here = plan([("here", scenario)], [Contender.of("thompson")], 1)
    there = plan([("there", scenario)], [Contender.of("thompson", noise_variance=1.0)], 1)
    assert here[0].hash == there[0].hash


def test_the_named_plans_are_the_papers() -> None:
    published = set(PLANS["published"].selectors)
    assert len(published - set(BASELINES)) == 13
    assert published < set(DEFAULT)
    values = {(sweep.selector, sweep.parameter): sweep.values for sweep in SWEEPS}
    np.testing.assert_allclose(values["bj_thompson_rev", "noise_variance"], np.arange(1.0, 10.01, 0.5))
    np.testing.assert_allclose(values["bj_thompson_rev", "ridge"], np.arange(0.05, 1.01, 0.05))
    np.testing.assert_allclose(values["rand_bclinucb_rev", "alpha"], np.arange(0.1, 2.01, 0.1))
    np.testing.assert_allclose(values["rand_bclinucb_rev", "rand_sigma"], np.arange(0.025, 0.526, 0.025))
    assert len(PLANS["sensitivity"].contenders) == 19 + 20 + 19 + 20 + 21


def test_the_ablation_changes_one_thing_at_a_time() -> None:
    contenders = PLANS["ablation"].contenders
    assert {contender.selector for contender in contenders} == {"tailcut"}
    assert contenders[0].label == "tailcut"
    default = contenders[0].settings()
    for contender in contenders[1:]:
        settings = contender.settings()
        assert sum(settings[key] != value for key, value in default.items()) == 1
    assert len(set(contenders)) == len(contenders) == 12


def test_the_settings_change_one_hyperparameter_down_and_up() -> None:
    contenders = PLANS["settings"].contenders
    assert len(set(contenders)) == len(contenders)
    for selector in PLANS["settings"].selectors:
        own = [contender for contender in contenders if contender.selector == selector]
        default = own[0].settings()
        assert own[0].label == selector
        for contender in own[1:]:
            assert sum(contender.settings()[key] != value for key, value in default.items()) == 1
    for sweep in PLANS["settings"].sweeps:
        default = Contender.of(sweep.selector).settings()[sweep.parameter]
        assert min(sweep.values) < default
        # No scenario is as long as the memory: more of it would change nothing.
        assert max(sweep.values) > default or sweep.parameter == "memory"


def test_every_baseline_and_peer_is_in_a_plan() -> None:
    assert {*BASELINES} - {*DEFAULT} == {"sbs_train"}
    assert {*PEERS} < {*PLANS["peers"].selectors}
    assert {f"{name}@cv" for name in (*OFFLINE_PEERS, "sbs_train")} < {*PLANS["offline"].selectors}


def test_seeds_count_from_the_first(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path, "ONE")
    later = plan([("x", scenario)], [Contender.of("thompson")], 2, first_seed=1)
    assert [cell.seed for cell in later] == [1, 2]
    first = plan([("x", scenario)], [Contender.of("thompson")], 2)
    assert later[0].hash == first[1].hash
