"""What is expected of one instance: survival curves of all algorithms, in each class that it may belong to.

A survival curve is the chance that an algorithm has not yet solved an instance, at any time. Time is cut at
fixed fractions of a cutoff. Within an interval between two cuts the time of a solution is uniform, so a
curve is a polygon through its values at the cuts, and its integral, the expected time a run takes, is exact
by the trapezoidal rule. There is one curve per algorithm and per class. The first classes are those of
hardness (`tailcut.schedules.hazards`), the others are one for each past instance that is like it
(`tailcut.schedules.survival_forest`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tailcut.numerics.plan_kernels import (
    curve_tables,
    curve_tables_by_class,
    curve_values,
    failure_likelihood,
)
from tailcut.numerics.survival_kernels import intervals_passed, run_likelihood, weigh_outcome, weigh_run
from tailcut.state import Stateful, expect, expect_finite
from tailcut.types import Array, Forecasts, Progress

CUTS = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
"""Ends of the J intervals, as fractions of the cutoff: even steps in log-time, finer towards the cutoff,
where the length of a run decides how many other runs there is time for. A slice ends at one of them, so none
is shorter than 1%: shorter ones cost next to nothing in a benchmark, but live a solver has hardly started
by then."""
TRACE = 0.05
"""An interval of which less was passed teaches nothing."""
_START = np.zeros(1)


class Curves:
    """Survival S(t) = P(longer than t) of K algorithms in M classes, and its integral from 0 to t.

    `log_odds` are those of a solution within an interval, given none before. Shape (K, J): in a class of
    hardness 0, to which `hardness` of shape (M,) is added; or, without that, shape (K, J, M). After the last
    cut the curves stay level: nothing was ever seen there.

    >>> curves = Curves(np.zeros((1, 2)), np.zeros(1), cuts=np.array([10.0, 30.0]))
    >>> survival, integral = curves.at(np.array([10.0]))
    >>> survival.tolist(), integral.tolist()
    ([[0.5]], [[7.5]])
    """

    def __init__(self, log_odds: Array, hardness: Array | None = None, *, cuts: Array) -> None:
        self.cuts = np.concatenate((_START, cuts))
        """Where the intervals begin and end, shape (J + 1,)."""
        if hardness is None:
            tables = curve_tables_by_class(log_odds, self.cuts)
        else:
            tables = curve_tables(log_odds, hardness, self.cuts)
        self.tables = tables
        """Survival and integral at the cuts, as the kernels take them, shape (J + 1, M, K) each."""

    @property
    def n_algorithms(self) -> int:
        return int(self.tables[0].shape[2])

    @property
    def survival(self) -> Array:
        """Survival at the cuts, shape (K, J + 1, M)."""
        return self.tables[0].transpose(2, 0, 1)

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of each algorithm at its own time; (K,) -> (K, M) each."""
        survival, integral = curve_values(*self.tables, self.cuts, times[None])
        return survival[0].T, integral[0].T

    def at_all(self, times: Array) -> tuple[Array, Array]:
        """Return survival and integral of all algorithms at each of L times; (L,) -> (L, K, M) each."""
        everyone = times.repeat(self.n_algorithms).reshape(len(times), self.n_algorithms)
        survival, integral = curve_values(*self.tables, self.cuts, everyone)
        return survival.transpose(0, 2, 1), integral.transpose(0, 2, 1)


def likelihood(curves: Curves, failed: Array) -> Array:
    """Return the likelihood, up to a factor, of the failures so far in each class of hardness, shape (M,)."""
    return failure_likelihood(curves.tables[0], curves.cuts, failed)


def forecasts(curves: Curves, classes: Array, progress: Progress, penalty: float) -> Forecasts:
    """Return what a run of all that is left would take, for each of K algorithms.

    `classes` are the probabilities of the classes of hardness, shape (M,). A quantile that lies beyond the
    last cut is inf: nothing is known about what would happen there.
    """
    assert progress.failed is not None
    failed = progress.failed
    survival, integral = curves.at(failed)
    ends = np.full(len(failed), max(progress.left, 0.0))
    later, area = curves.at(np.maximum(ends, failed))
    timeout = np.minimum((later / survival) @ classes, 1.0)  # a sum of shares may round to more
    spent = np.minimum(failed, ends) + ((area - integral) / survival) @ classes
    unsolved = (penalty - 1.0) * progress.cutoff
    low, median, high = (_quantile(curves, classes, failed, level) for level in (0.05, 0.5, 0.95))
    return Forecasts(median, low, high, timeout, progress.used + spent + unsolved * timeout, penalty)


def _quantile(curves: Curves, classes: Array, failed: Array, level: float) -> Array:
    """Return the time by which each algorithm has solved with probability `level`, shape (K,)."""
    at_cuts = (curves.survival / curves.at(failed)[0][:, None]) @ classes  # (K, J + 1)
    # Up to what it has failed for, an algorithm is known not to solve.
    at_cuts = np.where(curves.cuts <= failed[:, None], 1.0, at_cuts)
    quantile = np.full(len(failed), np.inf)
    for k, falling in enumerate(at_cuts):
        if falling[-1] <= 1.0 - level:
            knots = np.maximum(curves.cuts, failed[k])
            quantile[k] = float(np.interp(level, 1.0 - falling, knots))
    return quantile


class Passage(NamedTuple):
    """The intervals that a run passed and that teach something."""

    start: int
    """Number of the first of them."""
    solved: Array
    """1 where the run solved the instance within the interval, else 0, shape (j,)."""
    weights: Array
    """How much of each interval was passed, shape (j,)."""


class ClassEvidence(NamedTuple):
    """What outcomes say of the classes of an instance."""

    hardness_before: Array
    """How likely each class of hardness was before the outcomes, shape (M',)."""
    hardness_after: Array
    """And after them."""
    by_near: float
    """How likely they were if the instance is like a past one."""
    by_hardness: float
    """And by the classes of hardness alone."""


class View(NamedTuple):
    """What is expected of an instance."""

    odds: Array
    """Log-odds of a solution within an interval, given none before, shape (K, J, M)."""
    classes: Array
    """How likely each class is before any run, shape (M,)."""
    curves: Curves
    n_hardness: int
    """How many of the classes are those of hardness."""

    def given(self, likelihood: Array) -> Array:
        """Return the probabilities of the classes, given the likelihood of what was seen in each."""
        joint = self.classes * likelihood
        total = joint.sum()
        return np.asarray(joint / total) if total > 0.0 else self.classes

    def after(
        self, failed: Array, algorithm: int, end: float, solved: bool
    ) -> tuple[Passage, ClassEvidence] | None:
        """Return what a run to `end` says after these failures (K,); None if nothing."""
        curves = self.curves
        evidence = weigh_run(
            self.odds,
            curves.tables[0],
            curves.cuts,
            self.classes,
            self.n_hardness,
            failed,
            algorithm,
            end,
            solved,
            TRACE,
        )
        if evidence is None:
            return None
        return Passage(*evidence[:3]), ClassEvidence(*evidence[3:])

    def after_all(self, passages: Iterable[tuple[int, Passage]]) -> ClassEvidence:
        """Return what runs of several algorithms say of the classes of a new instance."""
        likely = np.ones(len(self.classes))
        for algorithm, passage in passages:
            likely = likely * run_likelihood(self.odds, algorithm, *passage)
            likely /= max(float(likely.max()), 1e-300)
        before = np.ones(len(likely))
        return ClassEvidence(*weigh_outcome(self.classes, before, likely, self.n_hardness))


def passed(known: float, end: float, solved: bool, cuts: Array) -> Passage:
    """Return what a run from scratch to `end` says of the intervals between `cuts`.

    Up to `known` seconds it was known to fail.

    >>> cuts = np.array([1.0, 3.0, 10.0])
    >>> passed(0.0, 5.0, True, cuts)  # through the first two, solved in the third
    Passage(start=0, solved=array([0., 0., 1.]), weights=array([1., 1., 1.]))
    >>> passed(1.0, 2.0, False, cuts)  # half of the second
    Passage(start=1, solved=array([0.]), weights=array([0.5]))
    """
    return Passage(*intervals_passed(known, end, solved, cuts, TRACE))


class CurrentInstance(Stateful):
    """The instance that began last, if any: what is expected of it, and what its runs are planned with.

    Plans are made with skills that were drawn once for the instance (Thompson sampling), so that its runs
    follow one plan. What is learned from them goes by what was expected.
    """

    STATE = ("x", "odds", "drawn_odds", "classes")
    GROWING = STATE

    def __init__(self, *, cuts: Array, n_hardness: int) -> None:
        self._cuts, self._n_hardness = cuts, n_hardness
        self.forget()

    def forget(self) -> None:
        self.x, self.classes = np.zeros(0), np.zeros(0)
        self.odds, self.drawn_odds = np.zeros((0, 0, 0)), np.zeros((0, 0, 0))
        self._key = b""
        self._view: View | None = None
        self._drawn: View | None = None

    def begin(self, x: Array, view: View, drawn: View) -> None:
        """Take in a new instance; its classes are as likely in both views."""
        self.x, self.odds, self.drawn_odds, self.classes = x, view.odds, drawn.odds, view.classes
        self._key, self._view, self._drawn = x.tobytes(), view, drawn

    def view(self, x: Array) -> View | None:
        """Return what was expected of the instance `x` when it began; None if another began since."""
        return self._view if self._is(x) else None

    def drawn(self, x: Array) -> View | None:
        """Return what the runs on the instance `x` are planned with; None if another began since."""
        return self._drawn if self._is(x) else None

    def _is(self, x: Array) -> bool:
        return x is self.x or self._key == x.tobytes()

    def restored(self) -> None:
        x, classes = self.x, self.classes
        if not len(classes):
            self.forget()
            return
        expect(len(classes) >= self._n_hardness, "current: odds of other intervals or classes")
        expect_finite(x=x, odds=self.odds, drawn_odds=self.drawn_odds, classes=classes)
        expect((classes >= 0.0).all(), "current: classes: expected at least 0")
        self.begin(x, self._restored_view(self.odds), self._restored_view(self.drawn_odds))

    def _restored_view(self, odds: Array) -> View:
        fine = odds.shape == (len(self.odds), len(self._cuts), len(self.classes))
        expect(fine, "current: odds of other intervals or classes")
        odds = np.ascontiguousarray(odds)
        return View(odds, self.classes, Curves(odds, cuts=self._cuts), self._n_hardness)
