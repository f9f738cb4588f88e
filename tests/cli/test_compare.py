"""``tailcut compare`` as a user runs it: who is ranked among whom, and choosing settings."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tailcut.bench.benchmark import run_cells
from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import opened
from tailcut.cli.app import app
from tests.bench.conftest import write_scenario


def _run(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "tailcut", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _said(*arguments: str | Path) -> str:
    """Return what the command says on standard error."""
    command = [sys.executable, "-m", "tailcut", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


SELECTORS = ("thompson", "epsilon_greedy", "round_robin", "sbs", "sbs_pair", "sbs_schedule", "oracle")


@pytest.mark.slow
def test_schedules_are_marked_and_compete_apart(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.db"
    options: list[str | Path] = ["--aslib", generated, "--out", out, "--seeds", "2", "--jobs", "1"]
    for name in SELECTORS:
        options += ["--selector", name]
    rows: list[dict[str, Any]] = json.loads(_run("bench", *options, "--json"))
    kinds = {row["selector"]: row["kind"] for row in rows}
    assert kinds["thompson"] == kinds["epsilon_greedy"] == "one pick"
    assert kinds["round_robin"] == "schedule"
    assert {kinds[name] for name in SELECTORS[3:]} == {"hindsight"}
    by_pair = {(row["scenario"], row["selector"]): row for row in rows}
    for scenario in ("ALPHA", "BETA", "GAMMA"):
        pars = [by_pair[scenario, name]["par10_mean"] for name in SELECTORS[3:]]
        assert pars == sorted(pars, reverse=True)
        assert by_pair[scenario, "round_robin"]["decision_us"] > 0.0
    table = _run("bench", *options)
    for mark in ("round_robin (schedule)", "sbs_pair (schedule)", "sbs_schedule (schedule)"):
        assert mark in table
    compared = json.loads(_run("compare", out, "--json"))
    assert set(compared["selectors"]) == {"thompson", "epsilon_greedy"}
    assert compared["schedules"] is None, "one schedule has nobody to be ranked among"
    named = ["--selector", "thompson", "--selector", "round_robin"]
    compared = json.loads(_run("compare", out, *named, "--json"))
    assert compared["kinds"] == {"thompson": "one pick", "round_robin": "schedule"}
    assert "round_robin (schedule)" in _run("compare", out, *named)


def test_several_schedules_are_ranked_among_themselves(generated: Path, tmp_path: Path) -> None:
    """Two labels of one schedule stand in for two schedules."""
    import sqlite3

    out = tmp_path / "r.db"
    options: list[str | Path] = ["--aslib", generated, "--out", out, "--seeds", "1", "--jobs", "1"]
    for name in ("thompson", "epsilon_greedy", "round_robin"):
        options += ["--selector", name]
    _run("bench", *options)
    with closing(sqlite3.connect(out)) as database, database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(cells)")]
        changed = {
            "hash": "hash || 'x'",
            "selector": "'round_robin:twice=1'",
            "settings": """'{"twice": 1}'""",
            "par": "2 * par",
        }
        copied = ", ".join(changed.get(name, name) for name in columns)
        database.execute(f"INSERT INTO cells SELECT {copied} FROM cells WHERE selector = 'round_robin'")
    assert "left out" not in _said("compare", out)
    compared = json.loads(_run("compare", out, "--json"))
    assert set(compared["selectors"]) == {"thompson", "epsilon_greedy"}
    assert compared["schedules"]["selectors"] == ["round_robin", "round_robin:twice=1"]
    assert compared["schedules"]["average_ranks"] == [1.0, 2.0]
    assert "scenarios, schedules" in " ".join(_run("compare", out).split())


def test_the_command_chooses_from_a_result_file(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.db"
    arguments = ["bench", "--aslib", str(generated), "--seeds", "2", "--first-seed", "2000", "--jobs", "1"]
    for text in ("bounded_thompson", "bounded_thompson:ridge=3", "bounded_thompson:noise_variance=1", "sbs"):
        arguments += ["--selector", text]
    made = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert made.exit_code == 0, made.output
    with opened(out, read_only=True) as store:
        rows = store.rows()
    assert {row["seed"] for row in rows} == {2000, 2001}
    told = CliRunner().invoke(app, ["compare", str(out), "--leave-out", "--json"])
    (choice,) = json.loads(told.stdout)
    assert (choice["selector"], choice["seeds"], choice["scenarios"]) == (
        "bounded_thompson",
        2,
        ["ALPHA", "BETA", "GAMMA"],
    )
    own = [row for row in rows if row["selector"] == "bounded_thompson:ridge=3.0"]
    by_hand = np.mean([(row["par"] - row["vbs"]) / (row["sbs"] - row["vbs"]) for row in own])
    shown = {one["setting"]: one["npar"] for one in choice["settings"]}
    assert shown["bounded_thompson:ridge=3.0"] == pytest.approx(by_hand)
    text = CliRunner().invoke(app, ["compare", str(out), "--leave-out"]).stdout
    for expected in (
        "ridge=3.0",
        "noise_variance=1.0",
        "best on all (optimistic)",
        "leaving out one scenario",
        "Chosen when",
    ):
        assert expected in text


def test_a_grid_with_holes_ends_the_command_with_a_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailcut.cli.app import run as command

    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / "cache"))
    scenarios = [(str(tmp_path / name), write_scenario(tmp_path, name)) for name in ("ONE", "TWO")]
    contenders = [Contender.of("bounded_thompson"), Contender.of("bounded_thompson", ridge=3.0)]
    with opened(tmp_path / "r.db") as store:
        run_cells(plan(scenarios, contenders, 1)[:3], store)
    monkeypatch.setattr("sys.argv", ["tailcut", "compare", str(tmp_path / "r.db"), "--leave-out"])
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == 2
    assert "missing are bounded_thompson:ridge=3.0 on TWO, seed 0" in capsys.readouterr().err


def test_what_is_not_compared_is_named_with_the_reason(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.db"
    options: list[str | Path] = ["--aslib", generated, "--out", out, "--seeds", "1", "--executor", "inline"]
    for name in ("thompson", "random", "round_robin", "sbs", "oracle"):
        options += ["--selector", name]
    _run("bench", *options)
    _run("bench", "--aslib", generated, "--out", out, "--seeds", "1", "--executor", "inline",
         "--scenario", "ALPHA", "--scenario", "BETA", "--selector", "epsilon_greedy")  # fmt: skip
    for more in ([], ["--json"]):
        said = _said("compare", out, *more)
        assert "left out, hindsight baselines, which compete only if named: oracle, sbs\n" in said
        assert "left out, a schedule by itself, which competes only if named: round_robin\n" in said
        assert "left out, scenarios not run with every selector: GAMMA\n" in said
    named = ["--selector", "thompson", "--selector", "random"]
    assert _said("compare", out, *named) == ""
