"""The bundled scenario is whole, is what its readme says, and is told right in the docs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tailcut.domains.sat.features import FEATURES
from tailcut.domains.sat.generators import generate, plan
from tailcut.scenarios import Scenario, bundled

ROOT = Path(__file__).parents[2]


def test_its_formulas_can_be_made_again() -> None:
    scenario = Scenario.read(bundled.SCENARIO)
    formulas = {f"{name}.cnf": (family, seed) for name, family, seed in plan(bundled.COUNT, bundled.SEED)}
    assert sorted(formulas) == list(scenario.instances)
    assert scenario.feature_names == FEATURES
    clauses = scenario.features[:, FEATURES.index("clauses")]
    for row in range(0, len(scenario.instances), 40):
        family, seed = formulas[scenario.instances[row]]
        assert generate(family, seed).n_clauses == clauses[row]


def test_it_is_complementary_and_sound() -> None:
    scenario = Scenario.read(bundled.SCENARIO)
    assert scenario.runtimes.shape == (360, 8)
    assert scenario.solved.any(axis=1).mean() > 0.99
    losses = scenario.losses()
    assert losses.min(axis=1).mean() < 0.3 * losses.mean(axis=0).min()
    assert len(set(losses.argmin(axis=1).tolist())) >= 7  # nearly every solver is the best for some
    assert scenario.has_feature_costs
    assert not np.isnan(scenario.features).all(axis=1).any()


def test_the_docs_table_is_its_own() -> None:
    scenario = Scenario.read(bundled.SCENARIO)
    page = (ROOT / "docs" / "reference" / "sat.md").read_text(encoding="utf-8")
    lines = page.split("<!-- solved -->")[1].split("<!-- end -->")[0].strip().splitlines()
    shown = {row[1].strip(" `"): row[2:10] for row in (line.split("|") for line in lines[2:])}
    families = np.array([name.split("-")[0] for name in scenario.instances])
    for family in dict.fromkeys(families.tolist()):
        solved = scenario.solved[families == family].sum(axis=0).tolist()
        assert [int(cell) for cell in shown[family]] == solved
    assert [float(cell) for cell in shown["PAR10, s"]] == [
        round(value, 1) for value in scenario.losses().mean(axis=0).tolist()
    ]


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in bundled.SCENARIO.iterdir()) < 1_000_000
