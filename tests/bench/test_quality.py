"""Scenarios of solution quality: read, replayed against brute force, and kept apart from runtimes."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

from tailcut.bench.benchmark import run_quality
from tailcut.bench.plan import Contender
from tailcut.bench.replay import cross_validate, replay, shuffled
from tailcut.bench.store import Store, opened
from tailcut.bench.summary import paid
from tailcut.cli.app import app
from tailcut.errors import InputError, NotRuntimeError, ScenarioError
from tailcut.scenarios import QualityScenario, Scenario
from tailcut.selector import Selector

N = 40


def write(folder: Path, *, maximise: bool = True, name: str = "Q") -> Path:
    """Write a small scenario: a scores high where x < 0.5, b elsewhere, and one run of c failed."""
    target = folder / name
    target.mkdir(parents=True)
    (target / "description.txt").write_text(
        f"scenario_id: {name}\nperformance_measures:\n- score\nmaximize:\n- {str(maximise).lower()}\n"
        "performance_type:\n- solution_quality\nalgorithm_cutoff_time: 0\n"
        "feature_steps:\n  all:\n    provides:\n    - x\n"
    )
    xs = np.random.default_rng(1).random(N)
    runs, features, folds = [], [], []
    for i, x in enumerate(xs):
        scores = {"a": 9.0 if x < 0.5 else -1.0, "b": 1.0 if x < 0.5 else 8.0, "c": 4.0}
        for algorithm, score in scores.items():
            value = score if maximise else -score
            failed = algorithm == "c" and i == 0
            runs.append(f"i{i:02d},1,{algorithm},{'?,crash' if failed else f'{value},ok'}")
        features.append(f"i{i:02d},1,{x}")
        folds.append(f"i{i:02d},1,{i % 10 + 1}")
    head = "@RELATION R\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
    (target / "algorithm_runs.arff").write_text(
        head + "@ATTRIBUTE algorithm STRING\n@ATTRIBUTE score NUMERIC\n"
        "@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}\n@DATA\n" + "\n".join(runs)
    )
    (target / "feature_values.arff").write_text(head + "@ATTRIBUTE x NUMERIC\n@DATA\n" + "\n".join(features))
    (target / "cv.arff").write_text(head + "@ATTRIBUTE fold NUMERIC\n@DATA\n" + "\n".join(folds))
    return target


@pytest.mark.parametrize("maximise", [True, False])
def test_values_become_losses_between_the_best_and_the_worst(tmp_path: Path, maximise: bool) -> None:
    scenario = QualityScenario.read(write(tmp_path, maximise=maximise))
    assert (scenario.measure, scenario.maximise) == ("score", maximise)
    low = scenario.features[:, 0] < 0.5
    # Scores lie between -1 and 9, whichever way round.
    assert scenario.ratings[:, 0] == pytest.approx(np.where(low, 0.0, 1.0))
    assert scenario.ratings[:, 1] == pytest.approx(np.where(low, 0.8, 0.1))
    assert scenario.ratings[0, 2] == 1.0, "no value"
    assert scenario.ratings[1, 2] == pytest.approx(0.5)


def test_readers_say_what_they_expected(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(NotRuntimeError, match=r"score, is of type solution_quality; .*QualityScenario\.read"):
        Scenario.read(folder)
    runs = folder / "algorithm_runs.arff"
    runs.write_text(runs.read_text().replace("i03,1,c,4.0,ok", "i03,1,c,?,ok"))
    with pytest.raises(ScenarioError, match="score: expected the value of an ok run, a finite number, got"):
        QualityScenario.read(folder)
    description = folder / "description.txt"
    description.write_text(description.read_text().replace("solution_quality", "runtime"))
    with pytest.raises(ScenarioError, match="is of type runtime; expected a solution_quality"):
        QualityScenario.read(folder)


def test_a_replay_is_what_the_loop_by_hand_gives(tmp_path: Path) -> None:
    scenario = QualityScenario.read(write(tmp_path))
    trace = replay(scenario, Selector("tailcut", scenario.algorithms, 1.0, seed=4), seed=4)
    selector, losses = Selector("tailcut", scenario.algorithms, 1.0, seed=4), []
    for row in shuffled(N, 4).tolist():
        decision = selector.select(scenario.features[row], instance=scenario.instances[row])
        losses.append(scenario.ratings[row, scenario.algorithms.index(decision.algorithm)])
        selector.observe(decision, loss=losses[-1])
    assert paid(scenario, trace)[0].tolist() == losses


def test_cross_validation_learns_the_other_folds(tmp_path: Path) -> None:
    scenario = QualityScenario.read(write(tmp_path))
    assert scenario.folds is not None

    def new_selector() -> Selector:
        return Selector("tailcut", scenario.algorithms, 1.0, seed=0)

    losses, _ = paid(scenario, cross_validate(scenario, new_selector, scenario.folds, seed=0))
    best = scenario.ratings.min(axis=1).mean()
    assert losses.mean() < best + 0.05, "one threshold, and 36 instances to learn it from"
    selector = new_selector()
    selector.fit(scenario)
    decision = selector.select([0.3])
    with pytest.raises(InputError, match="has learned losses so far and cannot learn times"):
        selector.observe(decision, runtime=0.5)


def test_the_command_has_a_table_of_its_own_and_runs_nothing_twice(tmp_path: Path) -> None:
    write(tmp_path / "aslib")
    out = tmp_path / "results.db"
    arguments = ["bench", "--aslib", str(tmp_path / "aslib"), "--scenario", "Q", "--seeds", "2"]
    arguments += ["--out", str(out), "--json"]
    first = CliRunner().invoke(app, arguments, catch_exceptions=False)
    rows = {row["selector"]: row for row in json.loads(first.stdout)}
    assert list(rows) == ["tailcut", "bounded_thompson", "random", "oracle", "sbs"]
    scenario = QualityScenario.read(tmp_path / "aslib" / "Q")
    assert rows["oracle"]["loss_mean"] == pytest.approx(scenario.ratings.min(axis=1).mean())
    assert rows["sbs"]["loss_mean"] == pytest.approx(scenario.ratings.mean(axis=0).min())
    assert (rows["oracle"]["nloss"], rows["sbs"]["nloss"]) == (0.0, 1.0)
    assert not any("par10" in key for row in rows.values() for key in row)
    with opened(out, read_only=True) as store:
        assert store.rows() == [], "runtimes know nothing of it"
        before = store.quality_rows()
    assert CliRunner().invoke(app, arguments).stdout == first.stdout, "times included: nothing is run again"
    with opened(out, read_only=True) as store:
        assert store.quality_rows() == before
    printed = CliRunner().invoke(app, [*arguments[:-1]]).stdout
    assert "loss by score, from 0 to 1" in " ".join(printed.split())


def test_the_table_of_cells_is_read_once_and_ratings_are_computed_once(tmp_path: Path) -> None:
    write(tmp_path)
    contenders = [Contender.of(name) for name in ("random", "sbs", "oracle")]
    with (
        patch.object(Store, "quality_rows", autospec=True, side_effect=Store.quality_rows) as read,
        patch.object(np, "nanmin", side_effect=np.nanmin) as computed,
    ):
        outcome = run_quality(tmp_path, ["Q"], tmp_path / "r.db", contenders=contenders, seeds=3)
    assert "<th>loss_mean</th>" in outcome._repr_html_()
    assert (read.call_count, computed.call_count) == (1, 1)
    ratings = QualityScenario.read(tmp_path / "Q").ratings
    with pytest.raises(ValueError, match="read-only"):
        ratings[0, 0] = 0.0


def test_what_cannot_be_judged_by_losses_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    for name in ("tailcut_schedule", "thompson", "sbs_pair"):
        with pytest.raises(InputError, match=f"{name} cannot be judged by losses; these can: tailcut"):
            run_quality(tmp_path, ["Q"], tmp_path / "r.db", contenders=[Contender.of(name)])
    contenders = [Contender.parse_label("tailcut@measure-first=5")]
    with pytest.raises(InputError, match="no extra runs, and no races"):
        run_quality(tmp_path, ["Q"], tmp_path / "r.db", contenders=contenders)
    with pytest.raises(InputError, match="unknown plan 'nope'; known: default"):
        run_quality(tmp_path, ["Q"], tmp_path / "r.db", plan_name="nope")


@pytest.mark.parametrize(
    ("name", "shape", "maximise", "single"),
    [
        ("OPENML-WEKA-2017", (105, 30), True, "2370_weka.LMT"),
        ("CSP-Minizinc-Obj-2016", (100, 22), False, "LCG-Glucose-free"),
    ],
)
def test_the_two_scenarios_of_aslib(
    name: str, shape: tuple[int, int], maximise: bool, single: str, aslib: Path, tmp_path: Path
) -> None:
    scenario = QualityScenario.read(aslib / name)
    ratings = scenario.ratings
    assert (ratings.shape, scenario.maximise) == (shape, maximise)
    assert (ratings.min(), ratings.max()) == (0.0, 1.0)
    assert scenario.algorithms[int(ratings.mean(axis=0).argmin())] == single
    assert scenario.folds is not None
    assert len(np.unique(scenario.folds)) == 10
    found = run_quality(aslib, [name], tmp_path / "r.db", contenders=[Contender.of("random")], seeds=1)
    assert [row["scenario"] for row in found.rows] == [name]
