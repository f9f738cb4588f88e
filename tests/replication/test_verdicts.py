"""Verdicts, the score behind them, and the data they are made with."""

from __future__ import annotations

import math
from importlib import resources

import numpy as np
import pytest

from tailcut.replication.experiment import APPROACHES, Summary
from tailcut.replication.published import PublishedCell, cells, compare, scenarios, z_score


def published(
    mean: str = "100.00", std: str = "4.00", scenario: str = "S", approach: str = "blinducb"
) -> PublishedCell:
    return PublishedCell(scenario, approach, mean, std)


@pytest.mark.parametrize(
    ("mean", "std", "verdict"),
    [
        (100.0, 4.0, "exact"),
        (100.0049, 3.9951, "exact"),
        (100.006, 4.0, "in_distribution"),
        (100.0, 4.006, "in_distribution"),
        (106.5, 4.0, "in_distribution"),  # z = 6.5 / (4 sqrt(2) / 3) = 3.45
        (106.7, 4.0, "differs"),
        (93.3, 4.0, "differs"),
    ],
)
def test_verdicts(mean: float, std: float, verdict: str) -> None:
    assert compare(Summary(mean, std, 10), published()).verdict == verdict


def test_three_printed_digits_are_compared_as_three() -> None:
    graphs = published("4.11e+07", "3.71e+06")
    assert compare(Summary(41_149_999.0, 3_709_000.0, 10), graphs).verdict == "exact"
    assert compare(Summary(41_160_000.0, 3_709_000.0, 10), graphs).verdict == "in_distribution"


def test_z_is_welch_with_sample_deviations() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(10.0, 2.0, 10), rng.normal(12.0, 3.0, 10)
    expected = (ours.mean() - theirs.mean()) / math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 10)
    other = PublishedCell("S", "a", repr(float(theirs.mean())), repr(float(theirs.std())))
    assert z_score(Summary(float(ours.mean()), float(ours.std()), 10), other) == pytest.approx(expected)


def test_without_any_spread_only_equal_means_agree() -> None:
    still = published(std="0.00")
    assert z_score(Summary(100.0, 0.0, 10), still) == 0.0
    assert compare(Summary(101.0, 0.0, 10), still).verdict == "differs"


@pytest.mark.parametrize(
    ("scenario", "approach", "seeds", "part"),
    [
        ("SAT18-EXP", "blinducb", 10, "revised"),
        ("CPMP-2015", "bj_thompson", 10, "BLAS"),
        ("CPMP-2015", "degroote_epsilon_greedy_lr", 10, "scikit-learn"),
        ("CPMP-2015", "blinducb", 3, "3 seeds"),
        ("CPMP-2015", "blinducb", 10, ""),
    ],
)
def test_notes(scenario: str, approach: str, seeds: int, part: str) -> None:
    note = compare(Summary(101.0, 4.0, seeds), published(scenario=scenario, approach=approach)).note
    assert part in note
    assert bool(note) == bool(part)
    assert compare(Summary(100.0, 4.0, 10), published(scenario=scenario, approach=approach)).note == ""


def test_the_printed_table_is_complete() -> None:
    assert len(scenarios()) == 27
    assert list(cells()) == [(scenario, name) for scenario in scenarios() for name in APPROACHES]
    assert all(row.mean > 0.0 and row.std > 0.0 for row in cells().values())
    lines = resources.files("tailcut.replication").joinpath("par10.csv").read_text().splitlines()
    assert len(lines) == 1 + 27 * 13


def test_cells_that_were_checked_by_eye() -> None:
    table = cells()
    assert table["ASP-POTASSCO", "blinducb"] == PublishedCell("ASP-POTASSCO", "blinducb", "1204.20", "161.11")
    assert table["GRAPHS-2015", "thompson"].mean == 3.97e7
    assert table["TSP-LION2015", "bj_thompson_rev"].par10_std == "396.73"
