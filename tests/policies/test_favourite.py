"""The favourite: others are tried only as far as that can pay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut import Scenario, Selector
from tailcut.bench.replay import replay
from tailcut.errors import InputError, PortfolioError
from tailcut.journal import Journal, Project
from tailcut.live.portfolio import read_portfolio
from tailcut.state import pack, unpack
from tailcut.types import PENALTY, Array, Decision
from tests.live import toy


def one_good(n: int, fails: float, seed: int = 0) -> Scenario:
    """Return a stream in which one algorithm is fast and fails rarely, and the others are slow."""
    draw = np.random.default_rng(seed)
    times = draw.lognormal(1.0, 1.2, (n, 4))
    times[:, 1:] *= 20.0
    solved = times <= 100.0
    solved[:, 0] &= draw.random(n) >= fails
    names = [f"i{k}" for k in range(n)]
    runs = {
        "instance": np.repeat(names, 4).tolist(),
        "algorithm": ["good", "b", "c", "d"] * n,
        "runtime": times.ravel().tolist(),
        "status": np.where(solved.ravel(), "ok", "timeout").tolist(),
    }
    return Scenario.from_frames(runs, {"instance": names, "x": draw.normal(size=n).tolist()}, cutoff=100.0)


def costs(scenario: Scenario, name: str, **more: object) -> Array:
    selector = Selector(name, scenario.algorithms, scenario.cutoff, **more)  # type: ignore[arg-type]
    trace = replay(scenario, selector, seed=0)
    if trace.slices is None:
        return np.asarray(scenario.losses(PENALTY)[trace.order, trace.choices])
    return np.where(trace.slices.solved, trace.slices.total, PENALTY * scenario.cutoff)


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule"])
def test_with_one_nearly_perfect_algorithm_hardly_anything_is_lost(name: str) -> None:
    scenario = one_good(300, fails=0.01)
    alone = float(scenario.losses(PENALTY)[:, scenario.algorithms.index("good")].mean())
    guarded = costs(scenario, name, favourite="good").mean()
    assert guarded <= 1.25 * alone
    assert guarded <= 1.05 * costs(scenario, name).mean()


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule"])
def test_a_favourite_that_fails_often_is_beaten(name: str) -> None:
    scenario = one_good(300, fails=0.7)
    alone = float(scenario.losses(PENALTY)[:, scenario.algorithms.index("good")].mean())
    assert costs(scenario, name, favourite="good").mean() < 0.9 * alone


def test_it_is_kept_in_state_files_and_repeated_bit_for_bit(tmp_path: Path) -> None:
    description = {
        "selector": "tailcut_schedule",
        "algorithms": ["a", "b", "c"],
        "cutoff": 60.0,
        "hyperparameters": {"favourite": "b"},
    }
    seen = []
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description)
        for step in range(40):
            decision: Decision | None = project.select([float(step % 3)], instance=str(step))
            seen.append(decision.algorithm if decision else "")
            while decision is not None:
                solves = decision.algorithm != "b" or step % 2
                if solves:
                    project.observe(decision, runtime=min(1.0, decision.budget))
                else:
                    project.observe(decision, failed=True)
                decision = project.proceed(decision, spent=0.5)
        copy = Selector.from_bytes(project.selector.to_bytes())
        assert copy.select([1.0]).algorithm == project.select([1.0]).algorithm
    assert seen[:5] == ["b"] * 5
    with Journal(tmp_path / "state.db") as journal:
        assert Project(journal, "p").verify() > 80


def test_one_that_is_removed_or_not_offered_guards_nothing() -> None:
    selector = Selector("tailcut", ["a", "b", "c"], 60.0, favourite="c")
    assert selector.select([1.0]).algorithm == "c"
    assert selector.select([1.0], among=["a", "b"]).algorithm in ("a", "b")
    selector.remove_algorithm("c")
    assert selector.select([1.0]).algorithm in ("a", "b")
    with pytest.raises(InputError, match="favourite_margin must be a finite number >= 0"):
        Selector("tailcut", ["a"], 60.0, favourite_margin=-1.0)


def test_the_portfolio_names_it(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top='favourite = "b"')
    assert read_portfolio(tmp_path / "portfolio.toml").favourite == "b"
    toy.write_portfolio(tmp_path, ("a", "b"), top='favourite = "z"')
    with pytest.raises(PortfolioError, match="favourite must be one of the solvers a, b, got 'z'"):
        read_portfolio(tmp_path / "portfolio.toml")


@pytest.mark.parametrize("name", ["tailcut_schedule", "tailcut"])
def test_it_never_widens_what_the_caller_offers(name: str) -> None:
    """Not even after its own run, whether it is saved in between or not."""
    more = {} if name == "tailcut_schedule" else {"fail_over": 1}
    selector = Selector(name, ["a", "b", "c", "d"], 60.0, favourite="b", **more)  # type: ignore[arg-type]
    chosen = set()
    for step in range(30):
        decision: Decision | None = selector.select([float(step % 3)], among=["b", "c"])
        while decision is not None:
            chosen.add(decision.algorithm)
            if step % 2:
                selector = Selector.from_bytes(selector.to_bytes())
            selector.observe(decision, failed=True)
            decision = selector.proceed(decision, spent=0.1)
    assert chosen == {"b", "c"}


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "thompson"])
def test_a_race_says_nothing_of_it_alone(name: str) -> None:
    """Stopped because its rival answered, it has not lost; and nobody was let in for that either."""
    selector = Selector(name, ["a", "b", "c"], 60.0, favourite="b")
    for step in range(8):
        raced = selector.race([float(step)], k=3, instance=str(step))
        assert {one.algorithm for one in raced} == {"a", "b", "c"}
        for decision in raced:
            if decision.algorithm == "b":
                selector.observe(decision, censored_at=1.0)
            else:
                selector.observe(decision, runtime=1.0)
    guard = selector._favourite
    assert (guard.alone, guard.alone_loss, guard.begun, guard.over) == (0, 0.0, 0, 0)


def test_one_that_waited_alone_in_version_0_2_is_continued_by_the_others() -> None:
    selector = Selector("tailcut_schedule", ["a", "b", "c"], 60.0, favourite="b")
    decision = selector.select([1.0], instance="i")
    state = unpack(selector.to_bytes())
    waiting = state["pending"]["waiting"]
    for column in set(waiting) - V0_2:
        del waiting[column], state["pending"]["unsolved"][column]
    waiting["among"] = [["b"]]  # as it was written
    restored = Selector.from_bytes(pack(state))
    restored.observe(decision.id, failed=True)
    following = restored.proceed(decision.id, spent=1.0)
    assert following is not None
    assert following.algorithm in ("a", "c")
    assert restored._favourite.alone == 1


V0_2 = {"number", "algorithm", "instance", "cutoff", "x", "budget", "spent", "stage", "among", "failed"}
"""What it kept of a pending run."""
