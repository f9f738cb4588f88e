"""Decisions explained: the same ones as in the results, in figures and in words."""

from __future__ import annotations

import html
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tailcut.bench.store import opened
from tailcut.explain import AlgorithmBelief
from tailcut.report.figures import decision
from tailcut.report.gather import ExplainedDecision, Report, explain_decisions, explainable, gather
from tailcut.report.page import render_all
from tailcut.report.reports import left_out
from tailcut.report.style import INK
from tailcut.scenarios import Scenario
from tests.report.conftest import fill


@pytest.fixture(scope="module")
def report(results: Path, scenarios_folder: Path) -> Report:
    with opened(results, read_only=True) as store:
        return gather(store, scenarios_folder)


@pytest.fixture(scope="module")
def found(report: Report) -> list[ExplainedDecision]:
    assert report.explained
    return report.explained


def test_it_is_the_best_selector_that_predicts_runtimes(
    report: Report, found: list[ExplainedDecision]
) -> None:
    able = [one.selector for one in report.standings if one.selector in ("bj_thompson_rev", "thompson")]
    assert found[0].selector == able[0]
    assert found[0].scenario == "ALPHA"
    assert [one.step for one in found] == [6, 30, 60]
    others = [one for one in report.standings if one.selector in ("oracle", "epsilon_greedy")]
    assert len(others) == 2
    assert explainable(others) is None


def test_the_decisions_are_those_of_the_results(
    results: Path, found: list[ExplainedDecision], scenarios_folder: Path
) -> None:
    names = Scenario.read(scenarios_folder / found[0].scenario).algorithms
    with opened(results, read_only=True) as store:
        cell = next(
            cell
            for cell in gather(store).results.of(found[0].scenario, found[0].selector)
            if cell["seed"] == found[0].seed
        )
        choices = store.trace(cell["hash"])[0]
    assert [one.explanation.algorithm for one in found] == [names[choices[one.step - 1]] for one in found]


def test_they_know_the_scenario(found: list[ExplainedDecision], scenarios_folder: Path) -> None:
    scenario = Scenario.read(scenarios_folder / found[0].scenario)
    for one in found:
        row = scenario.instances.index(one.explanation.instance or "")
        for k, name in enumerate(scenario.algorithms):
            expected = float(scenario.runtimes[row, k]) if scenario.solved[row, k] else None
            assert one.runtimes[name] == expected
        assert one.explanation.outcomes_since == 0
        assert {effect.name for effect in one.explanation.features} <= set(scenario.feature_names)


def test_hyperparameters_and_schedules_are_served_too(scenarios_folder: Path) -> None:
    scenario = Scenario.read(scenarios_folder / "BETA")
    tuned = explain_decisions(scenario, "thompson:noise_variance=0.5", seed=1)
    assert [one.step for one in tuned] == [6, 30, 60]
    schedule = explain_decisions(scenario, "round_robin", seed=0)
    assert all(one.explanation.algorithm == scenario.algorithms[0] for one in schedule)


def test_the_figure_names_algorithms_and_features(found: list[ExplainedDecision], tmp_path: Path) -> None:
    one = found[-1]
    drawings = {"one": partial(decision, replace(one, scenario="a title $x$"))}
    render_all(drawings, tmp_path, ["svg", "png", "pdf"])
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    texts = "\n".join(root.itertext())
    for name in (*(row.name for row in one.explanation.algorithms), "a title $x$", "timeout", "PAR10"):
        assert name in texts
    for effect in one.explanation.features:
        assert f"{effect.name} = " in texts
    assert INK in (tmp_path / "one.svg").read_text(encoding="utf-8")


def test_odd_beliefs_can_be_drawn(found: list[ExplainedDecision], tmp_path: Path) -> None:
    """Many algorithms with long names and absurd intervals, and no features."""
    one = found[0]
    rows = tuple(
        AlgorithmBelief(f"{'solver' * 9}-{k}", 1.0, 1, 10.0**k, 1e-300, 1e300, 0.5, 9.0 + k)
        for k in range(30)
    )
    odd = replace(one.explanation, algorithms=rows, algorithm=rows[29].name, rival=None, features=())
    drawn = replace(one, explanation=odd, runtimes={})
    render_all({"odd": partial(decision, drawn)}, tmp_path, ["svg"])
    texts = "\n".join(ElementTree.parse(tmp_path / "odd.svg").getroot().itertext())
    assert "-29" in texts, "the chosen one is shown, however many are better"
    assert "-20" not in texts


def test_the_page_shows_them_and_says_when_it_cannot(
    written: Path, found: list[ExplainedDecision], scenarios_folder: Path, tmp_path: Path
) -> None:
    page = (written / "index.html").read_text(encoding="utf-8")
    assert '<section id="explained">' in page
    for one in found:
        assert one.explanation.text() in html.unescape(page)
    with opened(
        fill(tmp_path / "r.db", scenarios_folder, ("ALPHA",), ("thompson", "oracle"), seeds=1)
    ) as store:
        missing = left_out(gather(store))
    assert any(line.startswith("No decisions explained") for line in missing)
