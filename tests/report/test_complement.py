"""The practitioner's report: portfolios against brute force, learning against loops, the command."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tailcut.report.curves import complement
from tailcut.scenarios import Scenario


def test_portfolios_equal_brute_force(scenarios_folder: Path) -> None:
    for name in ("ALPHA", "BETA", "GAMMA"):
        scenario = Scenario.read(scenarios_folder / name)
        losses = np.where(scenario.solved, scenario.runtimes, 10 * scenario.cutoff)
        found = complement(scenario)
        columns = dict(zip(scenario.algorithms, losses.T, strict=True))
        pairs = {
            pair: np.minimum(*(columns[one] for one in pair)).mean() for pair in combinations(columns, 2)
        }
        assert found.pairs[0].par == pytest.approx(min(pairs.values()))
        assert {one.algorithms: one.par for one in found.pairs} == pytest.approx(pairs)
        assert found.sbs == pytest.approx(min(column.mean() for column in columns.values()))
        assert found.vbs == pytest.approx(losses.min(axis=1).mean())
        assert found.growth[0].closed == pytest.approx(0.0, abs=1e-12)
        assert found.growth[-1].par == pytest.approx(found.vbs)
        assert found.growth[-1].closed == pytest.approx(1.0)
        for one in found.solvers:
            k = scenario.algorithms.index(one.name)
            without = np.delete(losses, k, axis=1).min(axis=1).mean()
            assert one.adds == pytest.approx(without - found.vbs)
            assert one.only == sum(row[k] and row.sum() == 1 for row in scenario.solved)
        assert sum(one.fastest for one in found.solvers) == pytest.approx(1.0)
        assert found.unsolved == sum(not row.any() for row in scenario.solved)
