"""The page of a live run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tailcut.cli.app import app
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.report.reports import read_live_run, solvers_table, write_live_page
from tailcut.scenarios.synthetic import generate
from tailcut.types import Decision

N = 40


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state file of a schedule with one instance in progress and one algorithm that never ran."""
    path = tmp_path_factory.mktemp("live") / "run.db"
    made = generate(n_instances=N, n_algorithms=3, n_features=4, seed=3)
    settings = {"selector": "tailcut_schedule", "algorithms": list(made.algorithms), "cutoff": made.cutoff}
    with Journal(path) as journal:
        project = Project.create(journal, "run", settings)
        for row in range(N):
            decision: Decision | None = project.select(made.features[row], instance=f"<b>i{row}</b>")
            while decision is not None:
                runtime = float(made.runtimes[row, made.algorithms.index(decision.algorithm)])
                if runtime <= decision.budget:
                    project.observe(decision, runtime=runtime)
                else:
                    project.observe(decision, censored_at=decision.budget)
                decision = project.proceed(decision)
        project.add_algorithm("never")
        project.select(made.features[0], instance="last")
        project.create(journal, "other", settings)
    return path


def test_the_numbers_are_those_of_the_journal(state: Path) -> None:
    run = read_live_run(state)
    assert (run.project, len(run.instances), run.under_way) == ("run", N, 1)
    with Journal(state, read_only=True) as journal:
        counted = Project(journal, "run").statistics
    assert run.solved == counted.solved
    assert run.estimate is not None
    assert run.estimate.par10 == pytest.approx(counted.par10)
    assert run.estimate.solvers[-1].name == "never"
    assert run.estimate.solvers[-1].par10 is None
    assert sum(int(str(row[1])) for row in solvers_table(run).rows) == sum(
        len(one.runs) for one in run.instances
    )
    shares = run.shares()
    assert shares is not None
    np.testing.assert_allclose(shares.share.sum(axis=1), 1.0)
    costs = [instance.par10 for instance, _ in run.slowest]
    assert costs == sorted(costs, reverse=True)
    assert all(why is not None for _, why in run.slowest)


def test_the_command_writes_a_page_while_the_file_is_being_written(state: Path, tmp_path: Path) -> None:
    with Journal(state):  # a writer that has it open
        result = CliRunner().invoke(app, ["report", str(state), "--out", str(tmp_path), "--format", "svg"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "index.html").read_text()
    for part in (
        "What it saved: an estimate",
        "Solved over time",
        "Where the seconds went",
        "why",
        "It is estimated that",
    ):
        assert part in page
    assert "<b>i" not in page  # names are text
    assert (tmp_path / "tables" / "estimate.csv").exists()
    assert (tmp_path / "figures" / "waterfall.svg").exists()


def test_what_cannot_be_shown_is_an_error_with_the_way_out(state: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no project 'nobody' with a selector; it has run, other"):
        read_live_run(state, "nobody")
    with pytest.raises(InputError, match="project 'other' has served no instance yet"):
        read_live_run(state, "other")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "none.db"), "--project", "run"])
    assert isinstance(result.exception, InputError)


def test_one_instance_gives_no_curve_and_no_plural(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with Journal(path) as journal:
        project = Project.create(
            journal, "run", {"selector": "tailcut", "algorithms": ["a", "b"], "cutoff": 5.0}
        )
        project.observe(project.select([1.0], instance="i"), runtime=1.0)
    page = write_live_page(read_live_run(path), tmp_path / "report", formats=["svg"]).read_text()
    assert sorted(one.stem for one in (tmp_path / "report" / "figures").iterdir()) == [
        "estimate",
        "waterfall",
    ]
    assert "There is a curve once two instances are complete." in page
    assert "the only instance" in page
    assert "1 instances" not in page
