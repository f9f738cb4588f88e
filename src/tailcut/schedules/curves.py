"""What is expected of one instance: survival curves of all algorithms, in each class that it may belong to.

A survival curve is the chance that an algorithm has not yet solved an instance, at any time. Time is cut at
fixed fractions of a cutoff. Within an interval between two cuts the time of a solution is uniform, so a
curve is a polygon through its values at the cuts, and its integral, the expected time a run takes, is exact
by the trapezoidal rule. There is one curve per algorithm and per class. The first classes are those of
hardness (`tailcut.schedules.hazards`), the others are one for each past instance that is like it
(`tailcut.schedules.survival_forest`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tailcut.numerics.plan_kernels import curve_tables, curve_values, failure_likelihood
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

    `log_odds` (K, J, M) are those of a solution within an interval, given none before. After the last cut the
    curves stay level: nothing was ever seen there.

    >>> curves = Curves(np.zeros((1, 2, 1)), cuts=np.array([10.0, 30.0]))
    >>> survival, integral = curves.at(np.array([10.0]))
    >>> survival.tolist(), integral.tolist()
    ([[0.5]], [[7.5]])
    """

    def __init__(self, log_odds: Array, *, cuts: Array) -> None:
        self.cuts = np.concatenate((_START, cuts))
        """Where the intervals begin and end, shape (J + 1,)."""
        self.tables = curve_tables(log_odds, self.cuts)
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

    def given(self, failed: Array) -> Array:
        """Return the probabilities of the classes, given how long each algorithm has failed (K,)."""
        joint = self.classes * failure_likelihood(self.curves.tables[0], self.curves.cuts, failed)
        total = joint.sum()
        return np.asarray(joint / total) if total > 0.0 else self.classes

    def after(
        self, failed: Array, algorithm: int, end: float, solved: bool
    ) -> tuple[Passage, ClassEvidence] | None:
        """Return what a run to `end` says after these failures (K,); None if nothing."""
        curves = self.curves
        known = (self.odds, curves.tables[0], curves.cuts, self.classes, self.n_hardness, failed)
        found = weigh_run(*known, algorithm, end, solved, TRACE)
        return None if found is None else (Passage(*found[:3]), ClassEvidence(*found[3:]))

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


IN_FLIGHT = 64
"""Of so many instances at once, the latest, what was expected is kept."""


@dataclass(slots=True)
class Begun:
    """An instance in flight: what was expected of it when it began, and what its runs are planned with."""

    x: Array
    view: View
    drawn: View
    """The same with skills that were drawn once for the instance (Thompson sampling)."""
    entered: bool = False
    """Whether a run on it was offered to the memory of instances, which may not have kept it."""


class InstancesInFlight(Stateful):
    """The instances that have begun and are not over, by the number of the first decision on each.

    Plans are made with what was drawn for the instance, so that its runs follow one plan, however many others
    are under way. What is learned from them goes by what was expected.
    """

    STATE = ("kept",)
    GROWING = STATE

    def __init__(self, *, cuts: Array, n_hardness: int) -> None:
        self._cuts, self._n_hardness = cuts, n_hardness
        self.forget()

    def forget(self) -> None:
        self.instances: dict[int, Begun] = {}

    def begin(self, number: int, x: Array, view: View, drawn: View) -> None:
        """Take in a new instance; its classes are as likely in both views."""
        self.instances[number] = Begun(x, view, drawn)
        if len(self.instances) > IN_FLIGHT:
            del self.instances[next(iter(self.instances))]

    def of(self, number: int, x: Array) -> Begun | None:
        """Return the instance of that number; below 0 it is not known: the latest, if it is `x`."""
        return self.instances.get(number) if number >= 0 else self.latest(x)

    def latest(self, x: Array) -> Begun | None:
        """Return the instance that began last, if it is `x`."""
        latest = next(reversed(self.instances.values()), None)
        return latest if latest is not None and _same(latest.x, x) else None

    def entered(self, x: Array) -> None:
        """Note that a run on `x` was offered to the memory; in a race there are several instances of it."""
        for begun in self.instances.values():
            begun.entered |= _same(begun.x, x)

    def end(self, number: int) -> None:
        """Let go of an instance on which no run follows."""
        self.instances.pop(number, None)

    @property
    def kept(self) -> list[dict[str, Any]]:
        return [
            {
                "number": number,
                "x": begun.x,
                "odds": begun.view.odds,
                "drawn_odds": begun.drawn.odds,
                "classes": begun.view.classes,
                "entered": begun.entered,
            }
            for number, begun in self.instances.items()
        ]

    @kept.setter
    def kept(self, saved: list[dict[str, Any]]) -> None:
        self.forget()
        for one in saved:
            number, x, entered = one["number"], one["x"], one["entered"]
            plain = isinstance(number, int) and isinstance(entered, bool)
            expect(plain and number not in self.instances, f"at_hand: {number!r:.20}: is not an instance")
            view, drawn = (self._restored_view(one[odds], one["classes"]) for odds in ("odds", "drawn_odds"))
            expect(isinstance(x, np.ndarray) and x.ndim == 1, "at_hand: x: expected a vector")
            expect_finite(x=x)
            self.instances[number] = Begun(x, view, drawn, entered)
        expect(len(saved) <= IN_FLIGHT, f"at_hand: expected {IN_FLIGHT} instances at most")

    def restore(self, state: Mapping[str, Any]) -> None:
        if "kept" not in state:  # version 0.2 kept only the latest
            one = {**state, "number": -1, "entered": False}
            state = {"kept": [one] if len(state["classes"]) else []}
        super().restore(state)

    def _restored_view(self, odds: Array, classes: Array) -> View:
        fine = isinstance(odds, np.ndarray) and isinstance(classes, np.ndarray) and classes.ndim == 1
        fine = fine and odds.ndim == 3 and odds.shape[1:] == (len(self._cuts), len(classes))
        fine = fine and len(classes) >= self._n_hardness and odds.dtype == classes.dtype == np.float64
        expect(fine, "at_hand: odds of other intervals or classes")
        expect_finite(odds=odds, classes=classes)
        expect((classes >= 0.0).all(), "at_hand: classes: expected at least 0")
        odds = np.ascontiguousarray(odds)
        return View(odds, classes, Curves(odds, cuts=self._cuts), self._n_hardness)


def _same(one: Array, other: Array) -> bool:
    return one is other or one.tobytes() == other.tobytes()
