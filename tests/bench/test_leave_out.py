"""Choosing settings by leaving scenarios out, on numbers where the right answer is plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tailcut.bench.ranks import choose, choose_settings, difference, family, leave_out
from tailcut.errors import InputError
from tailcut.types import Array


def _rows(table: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Return cells from setting -> scenario -> nPAR per seed; VBS 10 s, SBS 20 s, seeds from 7 on."""
    return [
        {
            "selector": label,
            "scenario": name,
            "seed": seed,
            "par": 10.0 + 10.0 * value,
            "vbs": 10.0,
            "sbs": 20.0,
        }
        for label, scenarios in table.items()
        for name, values in scenarios.items()
        for seed, value in enumerate(values, 7)
    ]


OVERFITTED = {
    "x": {"SAT1": [1.0, 1.0], "SAT2": [1.0, 1.0], "QBF": [1.0, 1.0], "CSP": [1.0, 1.0]},
    "x:k=1": {"SAT1": [0.1, 0.3], "SAT2": [1.1, 1.1], "QBF": [1.1, 1.1], "CSP": [1.1, 1.1]},
    "x:k=2": {"SAT1": [1.1, 1.1], "SAT2": [0.4, 0.4], "QBF": [1.1, 1.1], "CSP": [1.1, 1.1]},
}
"""Each change shines on one scenario and costs a little on all others."""


def test_a_setting_that_shines_on_one_scenario_is_found_out() -> None:
    (choice,) = choose_settings(_rows(OVERFITTED))
    assert choice["best"]["setting"] == "x:k=1"
    assert choice["best"]["npar"] == pytest.approx((0.2 + 3 * 1.1) / 4)
    assert choice["by_scenario"]["chosen"] == {
        "SAT1": "x:k=2",
        "SAT2": "x:k=1",
        "QBF": "x:k=1",
        "CSP": "x:k=1",
    }
    assert choice["by_scenario"]["npar"] == pytest.approx(1.1)
    assert choice["by_scenario"]["difference"]["mean"] == pytest.approx(0.1)
    assert choice["by_scenario"]["difference"]["better_on"] == 0


def test_a_family_is_left_out_as_a_whole() -> None:
    (choice,) = choose_settings(_rows(OVERFITTED))
    assert choice["by_family"] is not None
    assert choice["by_family"]["chosen"] == {"CSP": "x:k=1", "QBF": "x:k=1", "SAT": "x"}
    assert choice["by_family"]["npar"] == pytest.approx((1.0 + 1.0 + 1.1 + 1.1) / 4)


def test_a_setting_better_everywhere_is_taken_everywhere_and_keeps_its_score() -> None:
    table = {"x": {"A": [1.0], "B": [2.0], "C": [3.0]}, "x:k=1": {"A": [0.9], "B": [1.9], "C": [2.7]}}
    (choice,) = choose_settings(_rows(table))
    assert set(choice["by_scenario"]["chosen"].values()) == {"x:k=1"}
    assert choice["by_scenario"]["npar"] == pytest.approx(choice["best"]["npar"]) == pytest.approx(5.5 / 3)
    assert choice["best"]["difference"]["better_on"] == 3
    assert choice["best"]["difference"]["seed_error"] is None
    assert choice["best"]["difference"]["scenario_error"] == pytest.approx(
        np.std([0.1, 0.1, 0.3], ddof=1) / np.sqrt(3)
    )


def test_the_default_is_taken_where_it_ties() -> None:
    table = {label: {"A": [1.0], "B": [2.0]} for label in ("x:k=1", "x", "x:a=1")}
    (choice,) = choose_settings(_rows(table))
    assert choice["best"]["setting"] == "x"
    assert set(choice["by_scenario"]["chosen"].values()) == {"x"}
    assert [one["setting"] for one in choice["settings"]] == ["x", "x:a=1", "x:k=1"]


def test_errors_of_the_mean_over_seeds_and_over_scenarios() -> None:
    """Three scenarios, two seeds: by hand, each scenario's variance of the mean is (spread / 2)^2."""
    ours = difference(
        np.array([[1.0, 1.4], [2.0, 2.0], [0.0, 0.6]]), np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    )
    assert ours["mean"] == pytest.approx((0.2 + 1.0 - 0.7) / 3)
    assert ours["seed_error"] == pytest.approx(np.sqrt(0.2**2 + 0.0 + 0.3**2) / 3)
    assert ours["scenario_error"] == pytest.approx(np.std([0.2, 1.0, -0.7], ddof=1) / np.sqrt(3))
    assert ours["better_on"] == 1


def test_differences_are_paired() -> None:
    """What a seed does to all settings alike is no error."""
    luck = np.array([[0.0, 5.0, -3.0], [1.0, -2.0, 4.0]])
    ours = difference(1.1 + luck, 1.0 + luck)
    assert ours["mean"] == pytest.approx(0.1)
    assert ours["seed_error"] == pytest.approx(0.0, abs=1e-12)


@given(
    arrays(float, array_shapes(min_dims=3, max_dims=3, min_side=2, max_side=5), elements=st.floats(0.0, 10.0))
)
def test_no_honest_choice_beats_the_best_settings_of_each_scenario_nor_sees_the_one_left_out(
    npar: Array,
) -> None:
    scenarios = tuple(f"{'ABCDE'[i]}1" for i in range(npar.shape[1]))
    settings = ("x", *(f"x:k={i}" for i in range(1, len(npar))))
    left_out = leave_out(settings, scenarios, npar, family)
    assert left_out["npar"] >= npar.mean(axis=2).min(axis=0).mean() - 1e-9
    assert choose(settings, scenarios, npar)["best"]["npar"] == pytest.approx(npar.mean(axis=(1, 2)).min())
    changed = npar.copy()
    changed[:, 0] = 10.0 - changed[:, 0]
    assert leave_out(settings, scenarios, changed, family)["chosen"]["A"] == left_out["chosen"]["A"]


def test_each_selector_chooses_among_its_own_settings_and_schedules_are_selectors() -> None:
    two = {label.replace("x", "tailcut"): table for label, table in OVERFITTED.items()}
    other = {label.replace("x", "tailcut_schedule"): table for label, table in OVERFITTED.items()}
    found = choose_settings(_rows({**two, **other, "sbs": OVERFITTED["x"]}))
    assert [choice["selector"] for choice in found] == ["tailcut", "tailcut_schedule"]
    assert all(
        one["setting"].partition(":")[0] == choice["selector"]
        for choice in found
        for one in choice["settings"]
    )
    assert [
        choice["selector"] for choice in choose_settings(_rows({**two, **other}), ["tailcut_schedule"])
    ] == ["tailcut_schedule"]


def test_a_single_family_has_no_figure_for_families() -> None:
    (choice,) = choose_settings(
        _rows({"x": {"SAT1": [1.0], "SAT2": [1.0]}, "x:k=1": {"SAT1": [2.0], "SAT2": [2.0]}})
    )
    assert choice["by_family"] is None


def test_a_scenario_without_a_gap_is_left_out_and_named() -> None:
    rows = _rows(OVERFITTED)
    for row in rows:
        if row["scenario"] == "CSP":
            row["sbs"] = row["vbs"]
    (choice,) = choose_settings(rows)
    assert choice["without_gap"] == ["CSP"]
    assert choice["scenarios"] == ["QBF", "SAT1", "SAT2"]
    assert np.isfinite(choice["by_scenario"]["npar"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"x": {"A": [1.0]}, "x:k=1": {"A": [1.0]}},
            "x: leaving scenarios out needs at least 2 of them, got A",
        ),
        ({"x": {"A": [1.0], "B": [1.0]}}, "choosing needs the default and another setting; .*: none"),
        ({}, "choosing needs the default and another setting"),
        (
            {"x:k=1": {"A": [1.0], "B": [1.0]}, "x:k=2": {"A": [1.0], "B": [1.0]}},
            "x: no results of the default",
        ),
        (
            {"x": {"A": [1.0, 1.0], "B": [1.0, 1.0]}, "x:k=1": {"A": [1.0, 1.0], "B": [1.0]}},
            "x: missing are x:k=1 on B, seed 8$",
        ),
        (
            {"x": {"A": [1.0] * 9, "B": [1.0] * 9}, "x:k=1": {"A": [1.0] * 9}},
            "missing are x:k=1 on B, seed 7; .*seed 11 and 4 more$",
        ),
    ],
)
def test_what_cannot_be_chosen_from_is_told(table: dict[str, dict[str, list[float]]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_settings(_rows(table))


def test_a_selector_without_settings_is_told_and_those_with_are_named() -> None:
    with pytest.raises(InputError, match=r"nope: choosing needs .* selectors that have these: x$"):
        choose_settings(_rows(OVERFITTED), ["nope"])
