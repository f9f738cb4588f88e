"""The practitioner's report: portfolios against brute force, learning against loops, the command."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tailcut.bench.store import opened
from tailcut.report.complement import complement
from tailcut.report.learning import learning
from tailcut.scenarios import Scenario
from tests.report.conftest import command


def test_portfolios_equal_brute_force(generated: Path) -> None:
    for name in ("ALPHA", "BETA", "GAMMA"):
        scenario = Scenario.read(generated / name)
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


def test_learning_is_between_the_lines_by_definition() -> None:
    rng = np.random.default_rng(3)
    vbs = rng.uniform(1, 2, 50)
    sbs = vbs + rng.uniform(0, 5, 50)
    at_the_lines = [learning("x", {0: own}, {0: sbs}, {0: vbs}) for own in (vbs, sbs)]
    for found, level, first in zip(at_the_lines, (0.0, 1.0), (1, 1), strict=True):
        assert found is not None
        assert found.npar == pytest.approx(np.full(8, level))
        assert found.break_even == first
    worse = learning("x", {0: sbs + 1e-3}, {0: sbs}, {0: vbs})
    assert worse is not None
    assert worse.break_even is None
    assert learning("x", {0: sbs}, {1: sbs}, {0: vbs}) is None


def test_the_command_reports_on_one_scenario(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: list[str | Path] = [
        "--scenario-dir",
        generated / "BETA",
        "--out",
        out,
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--format",
        "svg",
    ]
    done = command(*given, "--selector", "thompson", "--selector", "epsilon_greedy")
    assert done.returncode == 0, done.stderr
    page = (out / "index.html").read_text(encoding="utf-8")
    best = complement(Scenario.read(generated / "BETA")).solvers[0].name
    assert f"Always running {best}, the single best of 3 solvers" in page
    for key in ("learning", "solvers", "pairs", "scenarios"):
        assert f'id="table-{key}"' in page
        assert (out / "tables" / f"{key}.tex").is_file()
    with opened(out / "results.db", read_only=True) as store:
        assert len(store.rows()) == 8
    again = command(*given, "--selector", "thompson", "--selector", "epsilon_greedy")
    assert again.returncode == 0
    with opened(out / "results.db", read_only=True) as store:
        assert len(store.runs()) == 1, "nothing was missing the second time"


@pytest.mark.aslib
def test_the_command_reports_on_a_real_scenario(aslib: Path, tmp_path: Path) -> None:
    given = ("--scenario-dir", aslib / "CPMP-2015", "--out", tmp_path, "--seeds", "1", "--jobs", "1")
    done = command(*given, "--selector", "thompson", "--format", "svg")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    # four algorithms and 527 instances: as in the published overview (published_scenarios.csv)
    assert "the single best of 4 solvers" in page
    assert "of 527 instances unsolved" in page
    unsolved = int((~Scenario.read(aslib / "CPMP-2015").solved.any(axis=1)).sum())
    assert f"{unsolved} instances are solved by none" in page
