"""Fail-over: where one pick is all, a run that failed is followed by the next best, if that is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut import Selector
from tailcut.catalogue import CATALOGUE
from tailcut.journal import Journal, Project
from tailcut.types import Decision

ONE_PICK = [name for name, row in CATALOGUE.items() if not row.schedules]


def served(selector: Selector, failing: str, *, steps: int = 12) -> list[list[str]]:
    """Serve instances on which one algorithm fails after a hundredth of a second and the others solve."""
    seen: list[list[str]] = []
    for step in range(steps):
        decision: Decision | None = selector.select([float(step % 3)], instance=f"i{step}")
        seen.append([])
        spent = 0.0
        while decision is not None:
            seen[-1].append(decision.algorithm)
            if decision.algorithm == failing:
                spent += 0.01
                selector.observe(decision, failed=True)
            else:
                selector.observe(decision, runtime=1.0)
            decision = selector.proceed(decision, spent=spent)
    return seen


@pytest.mark.parametrize("name", ONE_PICK)
def test_a_failed_run_is_followed_by_another_algorithm(name: str) -> None:
    selector = Selector(name, ["a", "b", "c"], 60.0, fail_over=1)
    seen = served(selector, "b")
    failed = [runs for runs in seen if runs[0] == "b"]
    assert failed, "b was never tried"
    assert all(len(runs) == 2 and runs[1] != "b" for runs in failed)
    assert all(len(runs) == 1 for runs in seen if runs[0] != "b")
    assert selector.schedules


@pytest.mark.parametrize("name", ONE_PICK)
def test_without_it_one_pick_is_all(name: str) -> None:
    selector = Selector(name, ["a", "b", "c"], 60.0)
    assert all(len(runs) == 1 for runs in served(selector, "b"))
    assert not selector.schedules


def test_the_rest_of_the_time_goes_to_the_next_and_a_stopped_run_is_the_last() -> None:
    selector = Selector("tailcut", ["a", "b", "c"], 60.0, fail_over=1)
    first = selector.select([1.0])
    selector.observe(first, failed=True)
    second = selector.proceed(first, spent=2.0)
    assert second is not None
    assert (second.stage, second.spent, second.budget, second.reason) == (1, 2.0, 58.0, "fail-over")
    assert "because the run before it failed" in str(selector.explain(second))
    selector.observe(second, censored_at=20.0)  # stopped early, not failed
    assert selector.proceed(second, spent=22.0) is None
    third = selector.select([1.0])
    selector.observe(third, failed=True)
    assert selector.proceed(third) is None, "without `spent` the failed run counts as all the time"


def test_when_all_failed_it_is_over() -> None:
    selector = Selector("tailcut", ["a", "b"], 60.0, fail_over=1)
    decision: Decision | None = selector.select([1.0])
    tried = []
    while decision is not None:
        tried.append(decision.algorithm)
        selector.observe(decision, failed=True)
        decision = selector.proceed(decision, spent=0.01 * len(tried))
    assert sorted(tried) == ["a", "b"]


@pytest.mark.parametrize("window", [0, 5])
def test_it_is_kept_in_state_files_and_repeated_bit_for_bit(tmp_path: Path, window: int) -> None:
    name = "thompson_rev"
    if window:
        original = Selector(name, ["a", "b", "c"], 60.0, fail_over=1, window=window)
    else:
        original = Selector(name, ["a", "b", "c"], 60.0, fail_over=1)
    served(original, "b", steps=6)
    restored = Selector.from_bytes(original.to_bytes())
    assert served(original, "b") == served(restored, "b")
    description = {
        "selector": "tailcut",
        "algorithms": ["a", "b", "c"],
        "cutoff": 60.0,
        "hyperparameters": {"fail_over": 1},
    }
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description)
        for step in range(20):
            decision: Decision | None = project.select([float(step % 3)], instance=str(step))
            spent = 0.0
            while decision is not None:
                spent += 0.01
                failing = decision.algorithm == "b"
                project.observe(decision, failed=True) if failing else project.observe(decision, runtime=1.0)
                decision = project.proceed(decision, spent=spent)
        assert project.statistics.instances == project.statistics.solved == 20
    with Journal(tmp_path / "state.db") as journal:
        assert Project(journal, "p").verify() > 40
