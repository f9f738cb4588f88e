"""Published cells from the recorded data, to the printed digits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailcut.cli.app import app
from tailcut.replication import ExperimentData, approach, evaluate

pytestmark = pytest.mark.aslib


@pytest.fixture(scope="module")
def cpmp(aslib: Path) -> ExperimentData:
    return ExperimentData.read(aslib / "CPMP-2015")


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("blinducb", "11518.55", "1316.62"),
        ("bclinucb", "11437.13", "2265.92"),
        ("rand_bclinucb_rev", "11449.01", "1469.61"),
        ("bclinucb_rev", "10441.68", "2449.07"),
    ],
)
def test_cpmp_2015_to_the_digit(cpmp: ExperimentData, name: str, mean: str, std: str) -> None:
    ours = evaluate(cpmp, approach(name))
    assert (f"{ours.mean:.2f}", f"{ours.std:.2f}") == (mean, std)


def test_ties_and_gaps_to_the_digit(aslib: Path) -> None:
    """Algorithms of which nothing was learned tie here; sums of another order would break the ties."""
    ours = evaluate(ExperimentData.read(aslib / "MAXSAT12-PMS"), approach("blinducb"))
    assert (f"{ours.mean:.2f}", f"{ours.std:.2f}") == ("9829.22", "2477.59")


def test_the_command_prints_verdicts(aslib: Path) -> None:
    arguments = ["replicate", "--aslib", str(aslib), "--scenario", "CPMP-2015"]
    arguments += ["--approach", "blinducb", "--approach", "thompson"]
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    rows = json.loads(done.stdout)
    assert [row["verdict"] for row in rows] == ["exact", "in_distribution"]
    assert list(rows[0]) == [
        *("scenario", "approach", "ours_mean", "ours_std", "published_mean", "published_std"),
        *("z", "verdict", "note"),
    ]
    printed = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    assert "11518.55 ± 1316.62" in printed
    assert "2 cells: 1 exact, 1 in_distribution, 0 differs" in printed
