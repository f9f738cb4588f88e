"""Conditions: what a label says of them, what they refuse, and that cells know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.bench.benchmark import benchmark, under_conditions
from tailcut.bench.labels import STREAM, Conditions
from tailcut.bench.plan import Contender, plan
from tailcut.bench.sweeps import PLANS
from tailcut.errors import InputError
from tests.bench.conftest import write_scenario


@pytest.mark.parametrize(
    "label",
    [
        "tailcut",
        "tailcut@measure-first=25",
        "tailcut:ridge=30.0@measure-first=25,measure-cutoff=0.1",
        "tailcut_schedule@cv,folds=10,learn-on",
        "sbs@cv",
    ],
)
def test_a_label_is_read_as_it_was_written(label: str) -> None:
    assert Contender.parse_label(label).label == label


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("measure=25", "unknown condition 'measure'"),
        ("measure-first", "expected a number, got 'nothing'"),
        ("measure-first=-1", "0 or more"),
        ("measure-first=2,measure-cutoff=0", "share of the cutoff"),
        ("measure-cutoff=0.1", "give measure-first as well"),
        ("learn-share=0.1", "unknown condition"),
        ("cv=1", "takes no value"),
        ("cv,folds=1", "2 or more"),
        ("folds=10", "cross-validation"),
        ("learn-on", "cross-validation"),
        ("cv,measure-first=5", "nothing else is measured"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Conditions.parse(text)


def test_conditions_belong_to_the_cell(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path, "ONE")
    given = (
        *("", "@measure-first=1", "@measure-first=2", "@measure-first=2,measure-cutoff=0.5"),
        *("@cv,folds=2", "@cv,folds=3", "@cv,folds=2,learn-on"),
    )
    cells = plan([("x", scenario)], [Contender.parse_label(f"thompson{one}") for one in given], 1)
    assert len({cell.hash for cell in cells}) == len(given)


def test_contenders_keep_their_own_conditions_and_baselines_learn_nothing() -> None:
    given = [Contender.parse_label(label) for label in ("tailcut", "tailcut@measure-first=5", "sbs")]
    found = under_conditions(given, Conditions(measure_first=25))
    assert [one.label for one in found] == ["tailcut@measure-first=25", "tailcut@measure-first=5", "sbs"]
    assert under_conditions(given, STREAM) == tuple(given)
    folds = under_conditions(PLANS["cv"].contenders, Conditions(cv=True, folds=5))
    assert {one.conditions.folds for one in folds} == {5}
    assert len(folds) == len(PLANS["cv"].contenders)


def test_folds_reach_all_that_are_cross_validated_and_nobody_else() -> None:
    given = [Contender.parse_label(one) for one in ("tailcut", "tailcut@cv", "tailcut@cv,folds=3", "sbs@cv")]
    labels = ["tailcut", "tailcut@cv,folds=5", "tailcut@cv,folds=3", "sbs@cv,folds=5"]
    assert [one.label for one in under_conditions(given, STREAM, folds=5)] == labels
    for name in ("cv", "offline"):
        found = under_conditions(PLANS[name].contenders, STREAM, folds=5)
        assert {one.conditions.folds for one in found} == {5}
        assert found == under_conditions(PLANS[name].contenders, Conditions(cv=True, folds=5))
    with pytest.raises(InputError, match=r"folds: are for cross-validation, .* --protocol cv"):
        under_conditions(given[:1], STREAM, folds=5)
    with pytest.raises(InputError, match="folds: expected 2 or more"):
        under_conditions(given, STREAM, folds=1)


def test_the_plan_learning_has_both_selectors_under_every_amount() -> None:
    plan = PLANS["learning"].contenders
    found = {(one.selector, one.conditions.measure_first) for one in plan}
    assert sum(one.conditions.measure_cutoff < 1.0 for one in plan) == 4
    assert found == {(name, m) for name in ("tailcut", "tailcut_schedule") for m in (0, 10, 25, 50, 100)}


def test_what_cannot_be_judged_is_said_before_anything_runs(generated: Path) -> None:
    with pytest.raises(InputError, match=r"ALPHA: has no folds \(cv.arff.*--folds 10"):
        benchmark(generated, contenders=[Contender.of("random")], conditions=Conditions(cv=True))
    with pytest.raises(InputError, match="it needs cross-validation"):
        benchmark(generated, contenders=[Contender.of("sbs_train")])
