"""The selectors of the catalogue follow the paper's formulas, not its code: near the published averages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.benchmark import compute
from tailcut.bench.plan import Contender, plan
from tailcut.bench.sweeps import PLANS
from tailcut.catalogue import BASELINES
from tailcut.replication import published
from tailcut.replication.experiment import APPROACHES, Summary
from tailcut.scenarios import Scenario


def test_the_published_plan_is_the_published_table() -> None:
    assert {*PLANS["published"].selectors} - {*BASELINES} == set(APPROACHES)


@pytest.mark.aslib
@pytest.mark.parametrize("scenario", ["CPMP-2015", "MIP-2016", "SAT11-RAND"])
@pytest.mark.parametrize("name", ["blinducb", "thompson", "bj_thompson"])
def test_where_the_switches_do_not_matter_the_averages_agree(aslib: Path, name: str, scenario: str) -> None:
    folder = aslib / scenario
    cells = plan([(str(folder), Scenario.read(folder))], [Contender.of(name)], seeds=10)
    pars = np.array([compute(one).par for one in cells])
    ours = Summary(float(pars.mean()), float(pars.std()), 10)
    assert abs(published.z_score(ours, published.cells()[scenario, name])) < 3.5
