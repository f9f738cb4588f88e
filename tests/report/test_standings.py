"""The numbers of the tables are those that one computes from the result file by hand."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tailcut.bench.store import opened
from tailcut.report.results import Results, load
from tailcut.report.standings import METRICS, grids_of, ranking, standings


@pytest.fixture(scope="module")
def loaded(results: Path) -> Results:
    with opened(results, read_only=True) as store:
        return load(store)


def _by_hand(path: Path, scenario: str, selector: str) -> dict[str, tuple[float, float]]:
    """Mean and deviation of every metric, straight from SQLite."""
    db = sqlite3.connect(path)
    query = "SELECT par, unsolved, decision_us, vbs, sbs FROM cells WHERE scenario = ? AND selector = ?"
    rows = np.array(db.execute(query, (scenario, selector)).fetchall())
    db.close()
    par, vbs, sbs = rows[:, 0], rows[0, 3], rows[0, 4]
    of = {
        "par": par,
        "npar": (par - vbs) / (sbs - vbs),
        "repar": par / vbs,
        "unsolved": rows[:, 1],
        "decision": rows[:, 2],
        "extra_cpu": np.zeros(len(rows)),  # no condition asks for runs beside the answers
    }
    return {metric: (float(values.mean()), float(values.std())) for metric, values in of.items()}


@pytest.mark.parametrize("metric", METRICS)
def test_every_cell_equals_direct_computation(loaded: Results, results: Path, metric: str) -> None:
    table = grids_of(loaded)[metric]
    assert table.mean.shape == (3, 6)
    for i, scenario in enumerate(table.scenarios):
        for j, selector in enumerate(table.selectors):
            if metric == "decision" and selector in ("oracle", "sbs"):
                assert math.isnan(table.mean[i, j])
                continue
            expected = _by_hand(results, scenario, selector)[metric]
            assert (table.mean[i, j], table.deviation[i, j]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_ranks_and_standings_equal_direct_computation(loaded: Results, results: Path) -> None:
    names = ("bj_thompson_rev", "thompson", "rand_bclinucb", "epsilon_greedy")
    pars = np.array([[_by_hand(results, s, name)["par"][0] for name in names] for s in loaded.scenarios])
    expected = dict(zip(names, stats.rankdata(pars, axis=1).mean(axis=0), strict=True))
    ranked = ranking(grids_of(loaded)["par"])
    assert ranked is not None
    assert dict(zip(ranked.selectors, ranked.average_ranks, strict=True)) == pytest.approx(expected)
    found = {one.selector: one for one in standings(grids_of(loaded), ranked)}
    for j, name in enumerate(names):
        npar = [_by_hand(results, s, name)["npar"][0] for s in loaded.scenarios]
        repar = [_by_hand(results, s, name)["repar"][0] for s in loaded.scenarios]
        assert found[name].npar_mean == pytest.approx(np.mean(npar))
        assert found[name].repar_median == pytest.approx(np.median(repar))
        assert found[name].beats_sbs == sum(value < 1 for value in npar)
        assert found[name].wins == sum(pars.argmin(axis=1) == j)
        assert found[name].average_rank == pytest.approx(expected[name])
    assert found["oracle"].wins == 0
    assert found["sbs"].beats_sbs == 0
    order = [one.npar_mean for one in standings(grids_of(loaded), ranked)]
    assert order == sorted(order)


def test_the_hindsight_baselines_are_never_best(loaded: Results) -> None:
    table = grids_of(loaded)["par"]
    for row in range(3):
        best, second = table.placed(row)
        names = {table.selectors[j] for j in best | second}
        assert not names & {"oracle", "sbs"}
        competing = [j for j, contends in enumerate(table.contends) if contends]
        order = sorted(competing, key=lambda j: table.mean[row, j])
        assert best == {order[0]}
        assert second == {order[1]}


def test_equal_values_share_a_place(loaded: Results) -> None:
    table = grids_of(loaded)["par"]
    table.mean[0, :] = 5.0
    assert table.placed(0) == ({0, 1, 2, 3}, set())
    table.mean[0, :] = np.nan
    assert table.placed(0) == (set(), set())


def test_the_columns_are_in_the_published_order(loaded: Results) -> None:
    assert loaded.selectors == (
        "bj_thompson_rev",
        "thompson",
        "rand_bclinucb",
        "epsilon_greedy",
        "oracle",
        "sbs",
    )
