"""The kernels of the survival forest, against plain numpy, numerical differentiation and Bayes' rule."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from tailcut.numerics.survival_kernels import (
    intervals_passed,
    learn_intervals,
    odds_by_class,
    run_likelihood,
    share_paths,
    slopes,
    weigh_outcome,
)
from tailcut.schedules.curves import CUTS, Curves, View, passed
from tailcut.schedules.survival_forest import DOUBT, SCALE, TAIL
from tailcut.types import Array
from tests.schedules.plain_planner import likelihood

SHIFT = np.linspace(-5.0, 5.0, 7)[:, None] + np.sin(np.arange(7.0 * len(CUTS)).reshape(7, -1))
"""Of seven classes in each interval, no two alike."""
FREQUENCY = np.array([0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05])
NOT_HARD = np.zeros((1, len(CUTS)))
NO_LEAST = -1e9
"""Curvatures as they come."""

Flags = NDArray[np.bool_]


def _runs(seed: int, n: int = 12, algorithms: int = 3) -> tuple[Array, Array, Flags]:
    """Return log-odds (K, J), ends and whether solved (n, K); some did not run, some ended at a cut."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1.5, 1.0, (algorithms, len(CUTS)))
    end = np.exp(rng.uniform(np.log(1e-4), 0.0, (n, algorithms)))
    at_cut = rng.random(end.shape) < 0.3
    end[at_cut] = rng.choice(CUTS, at_cut.sum())
    end[rng.random(end.shape) < 0.25] = 0.0
    return odds, end, (rng.random(end.shape) < 0.5) & (end > 0.0)


def _log_likelihood(v: Array, end: float, solved: bool) -> float:
    """Return that of one run at log-odds `v` (J,): the product over the intervals that it passed."""
    total, low = 0.0, 0.0
    for odds, high in zip(v.tolist(), CUTS.tolist(), strict=True):
        if end <= low:
            break
        chance = float(expit(odds))
        if solved and end <= high:
            return total + float(np.log(chance))
        total += float(np.log(1.0 - chance)) * min((end - low) / (high - low), 1.0)
        low = high
    return total


def _order(end: Array, seed: int) -> NDArray[np.int32]:
    """Return in which order runs were made, (n, K): on every third instance they were recorded."""
    rng = np.random.default_rng(seed)
    order = np.array([rng.permutation(end.shape[1]) + 1 for _ in end], dtype=np.int32)
    order[(end == 0.0) | (np.arange(len(end)) % 3 == 0)[:, None]] = 0
    return order


def _slopes(odds: Array, end: Array, solved: Flags, least: float) -> tuple[Array, Array, Array]:
    """Return those of recorded runs."""
    recorded = np.zeros(end.shape, np.int32)
    return slopes(odds, end, solved.view(np.uint8), recorded, CUTS, SHIFT, FREQUENCY, least)


def _marginal(moves: Array, odds: Array, end: Array, solved: Flags) -> float:
    """Return the log-likelihood of all runs on an instance, if algorithms are moved by `moves` (K,)."""
    by_class = [
        np.log(common)
        + sum(
            _log_likelihood(odds[a] + moves[a] + hard, float(end[a]), bool(solved[a]))
            for a in range(len(end))
            if end[a] > 0.0
        )
        for hard, common in zip(SHIFT, FREQUENCY, strict=True)
    ]
    return float(np.logaddexp.reduce(by_class))


@pytest.mark.parametrize("seed", range(3))
def test_slopes_and_curvatures_are_derivatives_of_the_log_likelihood_given_the_runs_before(
    seed: int,
) -> None:
    odds, end, solved = _runs(seed)
    order = _order(end, seed)
    slope, curvature, _ = slopes(odds, end, solved.view(np.uint8), order, CUTS, SHIFT, FREQUENCY, NO_LEAST)
    step = 1e-3
    for i, a in np.ndindex(end.shape):
        if end[i, a] == 0.0:
            assert slope[i, a] == 0.0 == curvature[i, a]
            continue
        move = np.zeros(len(odds))
        move[a] = step
        before = (order[i] < order[i, a]) | ((order[i] == 0) & (order[i, a] == 0))
        until = np.where(before | (np.arange(len(odds)) == a), end[i], 0.0)
        below, here, above = (_marginal(by * move, odds, until, solved[i]) for by in (-1.0, 0.0, 1.0))
        assert slope[i, a] == pytest.approx((above - below) / (2.0 * step), abs=2e-6)
        assert curvature[i, a] == pytest.approx((2.0 * here - above - below) / step**2, abs=2e-5)


@pytest.mark.parametrize("seed", range(3))
def test_classes_follow_bayes_rule(seed: int) -> None:
    odds, end, solved = _runs(seed)
    _, _, classes = _slopes(odds, end, solved, 0.02)
    for i in range(len(end)):
        joint = FREQUENCY.copy()
        for a in np.flatnonzero(end[i]):
            joint *= [
                np.exp(_log_likelihood(odds[a] + hard, float(end[i, a]), bool(solved[i, a])))
                for hard in SHIFT
            ]
        np.testing.assert_allclose(classes[i], joint / joint.sum(), rtol=1e-9)


def test_a_curvature_is_at_least_what_was_asked_for() -> None:
    odds, end, solved = _runs(0, n=200)
    _, plain, _ = _slopes(odds, end, solved, NO_LEAST)
    _, raised, _ = _slopes(odds, end, solved, 0.02)
    ran = end > 0.0
    assert plain[ran].min() < 0.02 < plain[ran].max()
    np.testing.assert_array_equal(raised[ran], np.maximum(plain[ran], 0.02))
    assert not raised[~ran].any()


@pytest.mark.parametrize("level", [-1e3, -40.0, 40.0, 1e3])
@pytest.mark.parametrize("seconds", [1e-9, 0.1, 1.0])
@pytest.mark.parametrize("answer", [False, True])
def test_slopes_are_finite_for_extreme_odds(level: float, seconds: float, answer: bool) -> None:
    odds, end = np.full((2, len(CUTS)), level), np.full((1, 2), seconds)
    found = _slopes(odds, end, np.full((1, 2), answer), 0.02)
    assert all(np.isfinite(values).all() for values in found)
    assert found[2].sum() == pytest.approx(1.0)


def _plain_odds_like(base: Array, end: Array, solved: Flags, hardness: Array, rows: Array) -> Array:
    """Return the same by the words of the docstring: survival at the cuts first, log-odds from that."""
    odds = np.empty((*base.shape, len(rows)))
    for r, row in enumerate(rows.tolist()):
        v = base + hardness[r]
        alone = np.cumprod(expit(-v), axis=1)
        for a in range(len(base)):
            odds[a, :, r] = v[a]
            if end[row, a] == 0.0:
                continue
            late = np.log(CUTS / end[row, a]) / SCALE
            alike = expit(-late) if solved[row, a] else 1.0 - SCALE / TAIL * np.logaddexp(0.0, late)
            after = (1.0 - DOUBT) * np.maximum(alike, 1e-12) + DOUBT * alone[a]
            ratio = np.clip(after / np.concatenate(([1.0], after[:-1])), 1e-12, 1.0 - 1e-12)
            known = np.ones(len(CUTS), bool) if solved[row, a] else end[row, a] * (1.0 + 1e-9) >= CUTS
            odds[a, known, r] = np.log((1.0 - ratio) / ratio)[known]
    return odds


def _odds_like(
    base: Array, end: Array, solved: Flags, hardness: Array, rows: Array, shift: Array | None = None
) -> Array:
    flags, numbers, own = (
        solved.view(np.uint8),
        rows.astype(np.int64),
        np.zeros((0, len(CUTS))) if shift is None else shift,
    )
    return odds_by_class(base, own, end, flags, hardness, numbers, CUTS, SCALE, DOUBT, TAIL)


@pytest.mark.parametrize("seed", range(3))
def test_odds_like_others_against_plain_numpy(seed: int) -> None:
    base, end, solved = _runs(seed)
    rows, hardness = np.array([3, 0, 7, 11]), SHIFT[[1, 3, 4, 6]]
    found = _odds_like(base, end, solved, hardness, rows)
    np.testing.assert_allclose(found, _plain_odds_like(base, end, solved, hardness, rows), rtol=1e-6)


def test_the_first_classes_are_those_of_hardness() -> None:
    base, end, solved = _runs(0)
    rows, hardness = np.array([3, 0]), SHIFT[[1, 4]]
    found = _odds_like(base, end, solved, hardness, rows, SHIFT)
    np.testing.assert_array_equal(found[:, :, :7], base[:, :, None] + SHIFT.T)
    np.testing.assert_array_equal(found[:, :, 7:], _odds_like(base, end, solved, hardness, rows))
    with pytest.raises(IndexError, match="row 12"):
        _odds_like(base, end, solved, hardness, np.array([3, 12]))


@pytest.mark.parametrize("level", [-30.0, -1.0, 30.0])
@pytest.mark.parametrize("seconds", [1e-9, 0.001, 0.1, 0.1000001, 1.0])
@pytest.mark.parametrize("answer", [False, True])
def test_odds_like_others_are_finite(level: float, seconds: float, answer: bool) -> None:
    base, end = np.full((2, len(CUTS)), level), np.full((1, 2), seconds)
    found = _odds_like(base, end, np.full((1, 2), answer), np.full((1, len(CUTS)), -5.0), np.zeros(1))
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 36.0


def test_a_run_alike_solves_about_when_it_did_there() -> None:
    """Nine in ten of its solutions lie within a factor of three, and the middle is where it was there."""
    base, end = np.full((1, len(CUTS)), -4.0), np.array([[0.1]])
    odds = _odds_like(base, end, np.array([[True]]), NOT_HARD, np.zeros(1))[0, :, 0]
    survival = np.concatenate(([1.0], np.cumprod(expit(-odds))))
    at = dict(zip([0.0, *CUTS.tolist()], survival.tolist(), strict=True))
    assert at[0.1] == pytest.approx(0.95 * 0.5 + 0.05 * float(expit(4.0)) ** 3, rel=1e-9)
    assert at[0.03] - at[0.3] > 0.9


def test_a_run_that_failed_up_to_a_cut_fails_up_to_it_and_no_further() -> None:
    base = np.full((1, len(CUTS)), 1.0)
    at_cut, just_before = (
        _odds_like(base, np.array([[end]]), np.array([[False]]), NOT_HARD, np.zeros(1))[0, :, 0]
        for end in (0.1, 0.1 - 1e-6)
    )
    np.testing.assert_array_equal(at_cut[3:], 1.0)
    np.testing.assert_array_equal(just_before[2:], 1.0)
    assert (at_cut[:3] < -1.0).all()


def test_a_solution_learned_in_the_last_interval_counts_there_wherever_it_was() -> None:
    """One that came after the last cut was never seen to come before it."""
    odds = np.full((1, 2), -1.0)
    cuts = np.array([0.1, 0.5])
    late, last = (
        slopes(
            odds,
            np.array([[end]]),
            np.ones((1, 1), np.uint8),
            np.zeros((1, 1), np.int32),
            cuts,
            SHIFT[:, :2].copy(),
            FREQUENCY,
            NO_LEAST,
        )
        for end in (0.7, 0.5)
    )
    for one, other in zip(late, last, strict=True):
        np.testing.assert_array_equal(one, other)


def test_shares_of_a_path_by_hand() -> None:
    """A root of five instances, and leaves of two and three below it."""
    feature, threshold = np.array([0, -1, -1], np.int32), np.array([0.5, 0.0, 0.0])
    child, spans = np.array([1, 0, 1], np.int32), np.array([[0, 5], [0, 2], [2, 5]], np.int32)
    members = np.array([[4, 1, 0, 2, 3]], np.int32)

    def weights(x: float, largest: int) -> list[float]:
        found = np.zeros(5)
        share_paths(
            np.zeros(1, np.int64),
            feature,
            threshold,
            child,
            spans,
            members,
            np.array([x]),
            3.0,
            largest,
            found,
        )
        return found.tolist()

    # The leaf has 2 of 2 + 3, a fifth each; of the 3/5 left over the root has 5 of 5 + 3.
    rest = 3.0 / 5.0 / 8.0
    assert weights(0.0, 64) == pytest.approx([rest, 0.2 + rest, rest, rest, 0.2 + rest])
    rest = 3.0 / 6.0 / 8.0
    assert weights(1.0, 64) == pytest.approx([1 / 6 + rest, rest, 1 / 6 + rest, 1 / 6 + rest, rest])
    # A root that is too large has no part; a leaf always has.
    assert weights(0.0, 4) == pytest.approx([0.0, 0.2, 0.0, 0.0, 0.2])
    assert weights(0.0, 1) == pytest.approx([0.0, 0.2, 0.0, 0.0, 0.2])


def test_learning_refuses_what_is_not_there() -> None:
    def learn(algorithm: int, start: int, answers: int, classes: int = 1, hard_intervals: int = 3) -> None:
        learn_intervals(
            np.zeros(3),
            np.ones(3),
            np.ones(2),
            np.zeros(2),
            np.ones(2),
            np.zeros((2, 3)),
            np.ones((2, 3)),
            algorithm,
            start,
            np.ones(answers),
            np.ones(answers),
            np.zeros((1, hard_intervals)),
            np.ones(classes),
        )

    learn(1, 1, 2)
    for wrong in ((2, 0, 1), (-1, 0, 1), (0, -1, 1), (0, 2, 2)):
        with pytest.raises(IndexError):
            learn(*wrong)
    with pytest.raises(ValueError, match="classes"):
        learn(0, 0, 1, classes=2)
    with pytest.raises(ValueError, match="3 intervals"):
        learn(0, 0, 1, hard_intervals=2)


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_of_a_run_is_the_product_over_its_intervals(seed: int) -> None:
    odds, end, solved = _runs(seed)
    by_class = np.ascontiguousarray(odds[:, :, None] + SHIFT.T)
    for i, a in zip(*np.nonzero(end > 0.0), strict=True):
        start, answers, weights = intervals_passed(0.0, float(end[i, a]), bool(solved[i, a]), CUTS, 0.0)
        found = run_likelihood(by_class, int(a), start, answers, weights)
        expected = [_log_likelihood(v, float(end[i, a]), bool(solved[i, a])) for v in by_class[a].T]
        np.testing.assert_allclose(found, np.exp(expected), rtol=1e-9)


def test_runs_of_others_and_intervals_that_do_not_exist_are_refused() -> None:
    odds, one = np.zeros((2, 3, 4)), np.ones(1)
    for algorithm, start in ((2, 0), (-1, 0), (0, 3), (0, -1)):
        with pytest.raises(IndexError):
            run_likelihood(odds, algorithm, start, one, one)


@pytest.mark.parametrize("n_hardness", [2, 7])
def test_what_an_outcome_says_of_the_classes_is_bayes_rule(n_hardness: int) -> None:
    rng = np.random.default_rng(n_hardness)
    classes, before, answer = rng.dirichlet(np.ones(7)), rng.random(7), rng.random(7)
    was, now, by_near, by_hardness = weigh_outcome(classes, before, before * answer, n_hardness)
    hard = slice(0, n_hardness)
    joint = classes * before
    np.testing.assert_allclose(was, joint[hard] / joint[hard].sum())
    np.testing.assert_allclose(now, (joint * answer)[hard] / (joint * answer)[hard].sum())
    np.testing.assert_allclose(by_hardness, (joint * answer)[hard].sum() / joint[hard].sum())
    near = slice(n_hardness, None)
    np.testing.assert_allclose(by_near, (joint * answer)[near].sum() / max(joint[near].sum(), 1e-300))


@pytest.mark.parametrize(("algorithm", "end", "solved"), [(0, 30.0, False), (1, 0.2, True), (2, 60.0, False)])
def test_a_run_says_what_its_passage_and_its_likelihood_say(algorithm: int, end: float, solved: bool) -> None:
    rng = np.random.default_rng(5)
    odds, cuts, failed = rng.normal(-1.0, 1.0, (3, len(CUTS), 9)), 60.0 * CUTS, np.array([0.0, 0.1, 20.0])
    view = View(odds, rng.dirichlet(np.ones(9)), Curves(odds, cuts=cuts), 7)
    passage = passed(float(failed[algorithm]), end, solved, cuts)
    before = likelihood(view.curves, failed)
    after = before * run_likelihood(odds, algorithm, *passage)
    expected = (*passage, *weigh_outcome(view.classes, before, after, 7))
    news = view.after(failed, algorithm, end, solved)
    assert news is not None
    for one, other in zip((*news[0], *news[1]), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert view.after(failed, 2, 20.1, solved=False) is None  # no more than it was known to fail for


def test_an_outcome_that_could_not_be_leaves_the_classes_as_common_as_they_are() -> None:
    classes, nothing = np.array([0.3, 0.3, 0.4]), np.zeros(3)
    was, now, by_near, by_hardness = weigh_outcome(classes, nothing, nothing, 2)
    assert was.tolist() == now.tolist() == [0.5, 0.5]
    assert by_near == by_hardness == 0.0
