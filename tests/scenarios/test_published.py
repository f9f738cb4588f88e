"""The real scenarios: what is read equals what was published of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tailcut.errors import ScenarioError
from tailcut.scenarios import Scenario, check_scenario

pytestmark = pytest.mark.aslib


def published() -> list[dict[str, str]]:
    text = Path(__file__).with_name("published_scenarios.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def folder_of(root: Path, name: str) -> Path:
    if not (root / name).is_dir():
        pytest.skip(f"{name} is not in TAILCUT_ASLIB")
    return root / name


@pytest.mark.parametrize("row", published(), ids=lambda row: row["scenario"])
def test_size_cutoff_and_timeouts_are_as_published(row: dict[str, str], aslib: Path) -> None:
    scenario = Scenario.read(folder_of(aslib, row["scenario"]))
    shares = scenario.timeout_shares()
    assert {
        "scenario": scenario.name,
        "instances": str(len(scenario.instances)),
        "features": str(len(scenario.feature_names)),
        "algorithms": str(len(scenario.algorithms)),
        "cutoff": str(scenario.cutoff),
        "timeouts_mean": f"{shares.mean():.2f}",
        "timeouts_median": f"{np.median(shares):.2f}",
        "timeouts_min": f"{shares.min():.2f}",
        "timeouts_max": f"{shares.max():.2f}",
    } == row


def test_the_published_table_has_the_twenty_scenarios_of_release_4() -> None:
    assert len(published()) == 20


@pytest.mark.parametrize("name", ["SAT18-EXP", "CPMP-2015", "SAT12-INDU", "GRAPHS-2015"])
def test_real_scenarios_are_in_order_and_finite(name: str, aslib: Path) -> None:
    scenario = Scenario.read(folder_of(aslib, name))
    assert list(scenario.instances) == sorted(scenario.instances)
    assert list(scenario.algorithms) == sorted(scenario.algorithms)
    assert np.isfinite(scenario.runtimes).all()
    assert (scenario.feature_cost >= 0).all()
    assert np.isfinite(scenario.features[~np.isnan(scenario.features)]).all()


@pytest.mark.parametrize("name", ["CSP-Minizinc-Obj-2016", "OPENML-WEKA-2017"])
def test_scenarios_of_solution_quality_are_refused(name: str, aslib: Path) -> None:
    with pytest.raises(
        ScenarioError, match=r"description\.txt, line \d+, performance_type: .*solution_quality"
    ):
        Scenario.read(folder_of(aslib, name))


@pytest.mark.parametrize("name", ["SAT11-HAND", "BNSL-2016"])
def test_real_scenarios_survive_writing_and_reading(name: str, aslib: Path, tmp_path: Path) -> None:
    scenario = Scenario.read(folder_of(aslib, name), cache=False)
    scenario.write(tmp_path / "copy")
    assert Scenario.read(tmp_path / "copy", cache=False) == scenario
    assert check_scenario(tmp_path / "copy") == []


def test_ground_truth_and_folds_come_along(aslib: Path) -> None:
    scenario = Scenario.read(folder_of(aslib, "SAT11-HAND"))
    assert scenario.ground_truth is not None
    assert set(scenario.ground_truth["satunsat"]) == {"SAT", "UNSAT", None}
    assert scenario.folds is not None
    assert set(scenario.folds.tolist()) == set(range(1, 11))
    assert scenario.has_feature_costs
    assert len(scenario.feature_steps) == 10
    assert sum(step.default for step in scenario.feature_steps) == 4
    np.testing.assert_array_equal(scenario.feature_cost, sum(step.costs for step in scenario.feature_steps))
