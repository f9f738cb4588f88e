"""Runs beside the answers: what they cost, counted again by hand, and what the selector gets to learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.bench.benchmark import compute
from tailcut.bench.labels import Conditions
from tailcut.bench.plan import Contender, plan
from tailcut.bench.replay import Trace, replay
from tailcut.bench.summary import summarise
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario


class Listening(Selector):
    """A selector that remembers what it was given to fit."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fitted: list[RecordedRuns] = []

    def fit(self, scenario: Any, *, known: Any = None) -> int:
        self.fitted.append(scenario)
        return super().fit(scenario, known=known)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Some unsolved runs ended long before the cutoff."""
    made = write_scenario(tmp_path, "ONE")
    runtimes = np.where(made.solved, made.runtimes, made.runtimes / 4)
    return replace(made, runtimes=runtimes)


def _replayed(scenario: Scenario, name: str, conditions: Conditions) -> tuple[Listening, Trace]:
    selector = Listening(name, scenario.algorithms, scenario.cutoff, seed=3)
    return selector, replay(scenario, selector, seed=3, conditions=conditions)


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_one_pick_measures_all_other_algorithms(scenario: Scenario, share: float) -> None:
    conditions = Conditions(measure_first=7, measure_cutoff=share)
    selector, trace = _replayed(scenario, "thompson", conditions)
    limit, expected = share * scenario.cutoff, 0.0
    assert len(selector.fitted) == 7
    for step, runs in enumerate(selector.fitted):
        row, chosen = trace.order[step], trace.choices[step]
        others = [k for k in range(3) if k != chosen]
        expected += sum(min(scenario.runtimes[row, k], limit) for k in others)
        assert runs.instances == (scenario.instances[row],)
        assert np.isnan(runs.runtimes[0, chosen]), "what was not run again is not learned"
        assert not runs.solved[0, chosen]
        for k in others:
            solved = scenario.solved[row, k] and scenario.runtimes[row, k] <= limit
            assert runs.solved[0, k] == solved
            assert runs.watched is not None
            assert runs.watched[0, k] == limit
            assert runs.runtimes[0, k] == (scenario.runtimes[row, k] if solved else limit)
    assert trace.extra_cpu == pytest.approx(expected)
    answers = sum(
        min(scenario.runtimes[row, k], scenario.cutoff) + scenario.feature_cost[row]
        for row, k in zip(trace.order, trace.choices, strict=True)
    )
    assert trace.cpu.sum() == pytest.approx(answers)


def test_a_schedule_measures_what_it_did_not_run_or_cut_short(scenario: Scenario) -> None:
    """Round robin gives each of three algorithms a third of the cutoff."""
    _, trace = _replayed(scenario, "round_robin", Conditions(measure_first=20))
    third, expected, answers = scenario.cutoff / 3, 0.0, 0.0
    for step, row in enumerate(trace.order):
        solver = None
        for k in range(3):
            if solver is None:
                answers += min(scenario.runtimes[row, k], third)
                if scenario.solved[row, k] and scenario.runtimes[row, k] <= third:
                    solver = k
        if step < 20:
            expected += sum(min(scenario.runtimes[row, k], scenario.cutoff) for k in range(3) if k != solver)
    assert trace.extra_cpu == pytest.approx(expected)
    assert trace.cpu.sum() == pytest.approx(answers)
    _, short = _replayed(scenario, "round_robin", Conditions(measure_first=20, measure_cutoff=0.1))
    assert short.extra_cpu < expected / 3, "what ran for a third of the cutoff is not run for a tenth again"


def test_cells_and_their_summary_say_what_was_extra(generated: Path) -> None:
    given = [Contender.parse_label(label) for label in ("thompson", "thompson@measure-first=10", "sbs")]
    folder = generated / "ALPHA"
    cells = plan([(str(folder), Scenario.read(folder))], given, 2)
    rows = []
    for cell in cells:
        result = compute(cell)
        assert result.error is None
        rows.append({**vars(result), **vars(cell), "selector": cell.contender.label})
    by_name = {row["selector"]: row for row in summarise(rows)}
    assert by_name["thompson"]["extra_cpu"] == by_name["sbs"]["extra_cpu"] == 0.0
    extra = [row for row in rows if row["selector"] == "thompson@measure-first=10"]
    share = sum(row["extra_cpu"] for row in extra) / sum(row["answer_cpu"] for row in extra)
    assert by_name["thompson@measure-first=10"]["extra_cpu"] == pytest.approx(share)
    assert share > 0.1
    assert by_name["thompson@measure-first=10"]["npar10_train"] is None
