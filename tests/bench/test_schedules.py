"""Schedules in the benchmark: what a replay makes of them, what they pay, and how they are marked."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.bench.metrics import paid
from tailcut.bench.replay import look_back, replay
from tailcut.scenarios.synthetic import generate
from tests.bench.test_metrics import TINY
from tests.schedules.test_proceed import ROW


def test_every_slice_starts_from_scratch_and_all_of_them_are_paid() -> None:
    selector = Selector("round_robin", TINY.algorithms, TINY.cutoff)
    trace = replay(TINY, selector, seed=0)
    slices = trace.slices
    assert slices is not None
    by_row = np.argsort(trace.order)
    # Five seconds each: a solves the first and the last instance within them, b the second after 5 + 2 s.
    assert slices.count[by_row].tolist() == [1, 2, 1]
    assert slices.total[by_row].tolist() == [1.0, 7.0, 4.0]
    assert trace.choices[by_row].tolist() == [0, 1, 0]
    assert slices.solved.all()
    losses, solved = paid(TINY, trace)
    assert losses[by_row].tolist() == [1.0, 7.0, 4.0], "it looks at no features, so it pays for none"
    assert solved.all()
    assert (trace.seconds > 0.0).all()


def test_what_no_slice_solves_costs_the_penalty() -> None:
    runs = replace(TINY, runtimes=np.array([[6.0, 9.5], [10.0, 5.0], [5.0, 3.0]]))
    trace = replay(runs, Selector("round_robin", runs.algorithms, runs.cutoff), seed=1)
    losses, solved = paid(runs, trace)
    by_row = np.argsort(trace.order)
    assert losses[by_row].tolist() == [100.0, 10.0, 5.0]
    assert solved[by_row].tolist() == [False, True, True]


def test_computing_features_uses_up_the_cutoff() -> None:
    """The first slice is a tenth of the cutoff of the last algorithm, the rest of the time its own again."""
    runs = replace(TINY, feature_cost=np.array([9.0, 9.5, 12.0]), runtimes=np.full((3, 2), 0.75))
    runs = replace(runs, solved=np.ones((3, 2), dtype=np.bool_))
    trace = replay(runs, Selector(ROW, runs.algorithms, runs.cutoff), seed=2)
    slices = trace.slices
    assert slices is not None
    by_row = np.argsort(trace.order)
    # One second is left of the first, half a second of the second, and nothing of the third.
    assert slices.count[by_row].tolist() == [1, 1, 0]
    assert slices.total[by_row].tolist() == [0.75, 0.5, 0.0]
    assert trace.choices[by_row].tolist() == [1, 1, -1]
    losses, solved = paid(runs, trace)
    assert losses[by_row].tolist() == [9.75, 100.0, 100.0]
    assert solved[by_row].tolist() == [True, False, False]


def test_the_fixed_lines_are_traced_run_by_run_and_in_order_of_their_power() -> None:
    runs = generate(n_instances=200, n_algorithms=4, timeouts=0.5, seed=5)
    means = {}
    for line in ("sbs", "sbs_pair", "sbs_schedule", "oracle"):
        trace = look_back(runs, line, seed=3)
        means[line] = float(paid(runs, trace)[0].mean())
        assert not trace.feature_cost.any()
        assert (trace.slices is None) == (line in ("sbs", "oracle"))
        if trace.slices is not None:
            assert trace.slices.count.max() <= (2 if line == "sbs_pair" else 3)
            assert (np.diff(trace.slices.step) >= 0).all()
    assert means["sbs"] >= means["sbs_pair"] >= means["sbs_schedule"] >= means["oracle"]


def _run(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "tailcut.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


SELECTORS = ("thompson", "epsilon_greedy", "round_robin", "sbs", "sbs_pair", "sbs_schedule", "oracle")


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
    with sqlite3.connect(out) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(cells)")]
        changed = {
            "hash": "hash || 'x'",
            "selector": "'round_robin:twice=1'",
            "settings": """'{"twice": 1}'""",
            "par": "2 * par",
        }
        copied = ", ".join(changed.get(name, name) for name in columns)
        database.execute(f"INSERT INTO cells SELECT {copied} FROM cells WHERE selector = 'round_robin'")
    compared = json.loads(_run("compare", out, "--json"))
    assert set(compared["selectors"]) == {"thompson", "epsilon_greedy"}
    assert compared["schedules"]["selectors"] == ["round_robin", "round_robin:twice=1"]
    assert compared["schedules"]["average_ranks"] == [1.0, 2.0]
    assert "scenarios, schedules" in " ".join(_run("compare", out).split())


@pytest.mark.aslib
def test_fixed_schedules_close_much_of_the_gap(aslib: Path) -> None:
    """On real scenarios: three stages do no worse than two, two no worse than one."""
    from tailcut import Scenario
    from tailcut.bench.metrics import Lines, normalised

    scenario = Scenario.read(aslib / "MAXSAT12-PMS")
    lines = Lines.of(scenario)
    pair, triple = (
        normalised(float(paid(scenario, look_back(scenario, line, seed=0))[0].mean()), lines)
        for line in ("sbs_pair", "sbs_schedule")
    )
    assert 0.0 < triple <= 0.11
    assert triple < pair < 0.25
