"""Losses that the user gives per run: learned as they are, kept exactly, refused where they mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut import state as statefile
from tailcut.catalogue import find_all, recipe
from tailcut.errors import ConflictingOutcomeError, InputError, StateFileError
from tailcut.journal import Journal, Project
from tailcut.policies.losses import BoundedLoss
from tailcut.policies.pending import is_outcome
from tailcut.types import Outcome, Status

ALGORITHMS = ("a", "b", "c")


def losses_of(features: np.ndarray) -> np.ndarray:
    """Return what each algorithm loses: a is good where the feature is low, b where it is high, c nowhere."""
    low = features[:, 0] < 0.5
    return np.column_stack([np.where(low, 0.1, 0.8), np.where(low, 0.9, 0.2), np.full(len(low), 0.6)])


def stream(n: int = 300, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(seed).random((n, 2))
    return features, losses_of(features)


def test_the_choice_comes_to_that_of_brute_force() -> None:
    features, losses = stream()
    selector = Selector("bounded_thompson", ALGORITHMS, cutoff=60.0, seed=0)
    paid = []
    for x, row in zip(features, losses, strict=True):
        decision = selector.select(x)
        paid.append(row[ALGORITHMS.index(decision.algorithm)])
        assert selector.observe(decision, loss=paid[-1])
    best, single = losses.min(axis=1).mean(), losses.mean(axis=0).min()
    late = float(np.mean(paid[100:]))
    assert late < best + 0.2 * (single - best), "the best of each instance, but for a little exploration"
    assert selector.rated


@pytest.mark.parametrize("name", ["tailcut", "bounded_thompson", "extra_trees"])
def test_a_loss_teaches_what_the_runtime_teaches_that_has_the_same_target(name: str) -> None:
    features, _ = stream(150)
    seconds = np.random.default_rng(8).uniform(0.0, 60.0, (150, 3))
    target = BoundedLoss(solved_share=0.3)
    # All first runs at once: when they are due, a runtime counts by its share of PAR10, not by its target.
    at_once: dict[str, Any] = {} if name == "bounded_thompson" else {"pace": 1e9}
    rated, timed = (Selector(name, ALGORITHMS, cutoff=60.0, seed=2, **at_once) for _ in range(2))
    for x, row in zip(features, seconds, strict=True):
        one, other = rated.select(x), timed.select(x)
        assert (one.algorithm, one.scores) == (other.algorithm, other.scores)
        took = float(row[ALGORITHMS.index(one.algorithm)])
        rated.observe(one, loss=target.value(took, 60.0))
        timed.observe(other, runtime=took)


def test_the_model_of_a_ridge_learns_exactly_the_loss() -> None:
    """Against the normal equations, solved here on the selector's own representation."""
    features, losses = stream(40)
    selector = Selector("bounded_thompson", ["a"], cutoff=60.0, seed=0, ridge=2.0)
    xs = []
    for x, row in zip(features, losses, strict=True):
        decision = selector.select(x)
        assert decision.origin is not None
        xs.append(decision.origin.x)
        selector.observe(decision, loss=row[0])
    design = np.array(xs)
    gram = design.T @ design + 2.0 * np.eye(design.shape[1])
    probe = selector.select(features[0])
    assert probe.origin is not None
    expected = probe.origin.x @ np.linalg.solve(gram, design.T @ losses[:, 0])
    found = selector.consider(features[0]).algorithms[0].score
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_saved_selector_continues_bit_for_bit(tmp_path: Path) -> None:
    features, losses = stream(80)
    one = Selector("tailcut", ALGORITHMS, cutoff=60.0, seed=5)
    for x, row in zip(features[:40], losses[:40], strict=True):
        decision = one.select(x)
        one.observe(decision, loss=row[ALGORITHMS.index(decision.algorithm)])
    one.save(tmp_path / "state")
    other = Selector.load(tmp_path / "state")
    assert other.rated
    for x, row in zip(features[40:], losses[40:], strict=True):
        decisions = one.select(x), other.select(x)
        assert decisions[0] == decisions[1]
        for selector, decision in zip((one, other), decisions, strict=True):
            selector.observe(decision, loss=row[ALGORITHMS.index(decision.algorithm)])
    assert one.to_bytes() == other.to_bytes()


def test_a_journal_keeps_losses_and_repeats_them(tmp_path: Path) -> None:
    features, losses = stream(30)
    description = {"selector": "tailcut", "algorithms": list(ALGORITHMS), "cutoff": 60.0, "seed": 1}
    with Journal(tmp_path / "j.db") as journal:
        project = Project.create(journal, "p", {**description, "hyperparameters": {}})
        for number, (x, row) in enumerate(zip(features, losses, strict=True)):
            decision = project.select(x.tolist())
            if number == 7:
                project.observe(decision, failed=True)
                continue
            project.observe(decision, loss=float(row[ALGORITHMS.index(decision.algorithm)]))
        written = [event.body for event in project.history() if event.kind == "observe"]
        assert written[0]["status"] == "rated"
        assert written[0]["time"] is None
        assert {type(body.get("loss")) for body in written} == {float, type(None)}
        project.verify()
        state, mean = project.selector.to_bytes(), project.statistics.mean_loss
        lost = [1.0 if body["status"] == "failed" else body["loss"] for body in written]
        assert mean == pytest.approx(np.mean(lost))
        assert project.statistics.par10 is None
    with Journal(tmp_path / "j.db") as journal:
        again = Project(journal, "p")
        assert again.selector.to_bytes() == state
        assert again.statistics.mean_loss == mean


@pytest.mark.parametrize("loss", [float("nan"), -0.01, 1.01, float("inf"), "bad", None])
def test_a_loss_must_be_a_share(loss: object) -> None:
    selector = Selector("tailcut", ALGORITHMS, cutoff=60.0)
    decision = selector.select([0.5])
    with pytest.raises(InputError, match=r"loss must be a number from 0 to 1|give exactly one of"):
        selector.observe(decision, loss=loss)  # type: ignore[arg-type]
    assert selector.observe(decision, loss=0.5), "nothing was learned by what was refused"


def test_bounds_may_be_given_either_way_round() -> None:
    assert Outcome.rated(30, best=10, worst=50).loss == 0.5
    assert Outcome.rated(0.9, best=1.0, worst=0.0).loss == pytest.approx(0.1)
    for bounds in ({"best": 1.0, "worst": 1.0}, {"best": float("nan"), "worst": 1.0}):
        with pytest.raises(InputError, match="two different finite numbers"):
            Outcome.rated(0.5, **bounds)
    with pytest.raises(InputError, match="from 10 to 50, got 51"):
        Outcome.rated(51, best=10, worst=50)


def test_one_outcome_and_one_kind_only() -> None:
    selector = Selector("tailcut", ALGORITHMS, cutoff=60.0)
    first, second, third = (selector.select([0.5]) for _ in range(3))
    with pytest.raises(InputError, match=r"give exactly one of .*loss.*; got 2"):
        selector.observe(first, loss=0.5, runtime=2.0)
    assert selector.observe(first, loss=0.5)
    assert not selector.observe(first, loss=0.5), "known already"
    with pytest.raises(ConflictingOutcomeError, match=r"already observed as rated 0\.5; got rated 0\.6"):
        selector.observe(first, loss=0.6)
    with pytest.raises(InputError, match="tailcut has learned losses so far and cannot learn times"):
        selector.observe(second, runtime=2.0)
    assert selector.observe(second, failed=True)
    timed = Selector("tailcut", ALGORITHMS, cutoff=60.0)
    timed.observe(timed.select([0.5]), runtime=2.0)
    with pytest.raises(InputError, match="has learned times so far and cannot learn losses"):
        timed.observe(timed.select([0.5]), loss=0.5)
    assert third.id in selector.pending


def test_selectors_without_a_bounded_loss_name_those_that_have_one() -> None:
    unable = [row for row in find_all() if not row.takes_losses]
    assert {"tailcut_schedule", "round_robin", "thompson", "epsilon_greedy"} <= {row.name for row in unable}
    for name in ("tailcut_schedule", "thompson", "epsilon_greedy"):
        selector = Selector(name, ALGORITHMS, cutoff=60.0)
        decision = selector.select([0.5])
        with pytest.raises(InputError, match=f"{name} learns runtimes, not losses; .*: tailcut, bounded"):
            selector.observe(decision, loss=0.5)


def test_every_row_that_takes_losses_does() -> None:
    for row in find_all():
        if not row.takes_losses or row.missing:
            continue
        selector = Selector(row.name, ALGORITHMS, cutoff=60.0)
        for x, losses in zip(*stream(12), strict=True):
            decision = selector.select(x)
            selector.observe(decision, loss=losses[ALGORITHMS.index(decision.algorithm)])
        assert selector.rated
    assert recipe("tailcut").describe()["takes_losses"]


def test_explanations_say_nothing_of_runtimes() -> None:
    selector = Selector("tailcut", ALGORITHMS, cutoff=60.0)
    for x, losses in zip(*stream(12), strict=True):
        decision = selector.select(x)
        selector.observe(decision, loss=losses[ALGORITHMS.index(decision.algorithm)])
    found = selector.consider([0.1, 0.1])
    assert found.judged_by == "predicted loss between 0 and 1"
    assert all(one.predicted_runtime is None for one in found.algorithms)


def test_fail_over_ends_with_an_answer_and_continues_after_a_failure() -> None:
    selector = Selector("tailcut", ALGORITHMS, cutoff=60.0, fail_over=1)
    decision = selector.select([0.5])
    selector.observe(decision, failed=True)
    following = selector.proceed(decision, spent=2.0)
    assert following is not None
    selector.observe(following, loss=0.3)
    assert selector.proceed(following) is None


def test_damaged_outcomes_are_found() -> None:
    selector = Selector("tailcut", ALGORITHMS, cutoff=60.0)
    selector.observe(selector.select([0.5]), loss=0.5)
    state = statefile.unpack(selector.to_bytes())
    state["pending"]["outcomes"][0][3] = 7.0
    with pytest.raises(StateFileError, match="outcome of 0: is not one"):
        Selector.from_bytes(statefile.pack(state))
    assert not is_outcome(Outcome(Status.SOLVED, 2.0, 0.5))
    assert not is_outcome(Outcome(Status.RATED, None))
