"""The learning schedule: plans with a survival forest, again after every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tailcut.numerics import randomness
from tailcut.numerics.ranges import Count, Penalty, Window
from tailcut.policies.feature_budget import FeatureBudget
from tailcut.policies.policy import Choice, Offered, Policy, RecordedOutcomes
from tailcut.representation import Pipeline
from tailcut.schedules.curves import CUTS, Curves, InstancesInFlight, View, forecasts, passed
from tailcut.schedules.hazards import Hardness, Hazards
from tailcut.schedules.planner import REHEARSALS, Calibration, Plan, Planner
from tailcut.schedules.race import Lane, Race
from tailcut.schedules.survival_forest import SurvivalForest
from tailcut.state import expect
from tailcut.types import NO_FEATURES, PENALTY, Array, Forecasts, Outcome, Progress, Quantity, Status

FIRST_WHOLE = 16
"""The first instance that starts with a run of all the time, whatever the plan."""
HAZARD_SAMPLE = 3000
"""Of recorded runs, the hazards learn so many at most: they have few unknowns, and a step takes time."""
TRUST_SAMPLE = 200
"""The number of recorded instances that set the weight of similar instances and calibrate plans."""
WEIGHED = 4
"""Of so many instances with features that cost something, one is planned without them, too, to compare."""


class HazardSchedule(Policy):
    """Learns when algorithms solve instances, and runs them in slices that lower the expected PARk.

    Times are cut at fractions of the selector's cutoff; an instance may have another one. What happens late
    in a run is only seen in long runs, so a schedule that thinks little of it would never learn better.
    Instances number 16, 32, 64, ... therefore start with one run of all the time: few enough to cost next to
    nothing, and never the last. And each instance is planned with skills that are drawn.
    """

    STATE = ("representation", "hardness", "hazards", "forest", "calibration", "instances", "begun", "stream")
    SAVED_AS: ClassVar[Mapping[str, str]] = {"begun": "at_hand", "stream": "luck"}
    representation: Pipeline
    predicts_runtimes: ClassVar[bool] = True
    quantity = Quantity("expected loss of the best plan", "s")

    def __init__(
        self,
        *,
        n_algorithms: int,
        cutoff: float,
        seed: int,
        representation: Pipeline,
        memory: Count = 20_000,
        window: Window = 0,
        penalty: Penalty = PENALTY,
        feature_budget: FeatureBudget | None = None,
    ) -> None:
        self.representation = representation
        self.feature_budget = FeatureBudget(penalty=penalty) if feature_budget is None else feature_budget
        self.penalty = penalty
        self.window = window
        """How many of the latest instances count, 0 for all: trees are grown on these, and hazards fade."""
        self.cuts = CUTS * cutoff
        """Where time is cut, in seconds, shape (J,)."""
        self.hardness = Hardness()
        self.hazards = Hazards(n_algorithms=n_algorithms)
        self.forest = SurvivalForest(
            size=window or memory,
            n_algorithms=n_algorithms,
            n_features=representation.width,
            hardness=self.hardness,
            seed=seed,
            latest=bool(window),
        )
        self.calibration = Calibration()
        self.stream = randomness.stream(seed, "schedule")
        """Draws what each instance is planned with."""
        self.instances = 0
        """How many instances were begun."""
        self.begun = InstancesInFlight(cuts=self.cuts, n_hardness=len(self.hardness.shift))
        self._latest: tuple[bytes, View] | None = None
        """The latest instance looked at, and its view, until something is learned."""

    def choose(self, features: Array, offered: Offered, progress: Progress) -> Choice:
        self.instances += 1
        whole = self.instances >= FIRST_WHOLE and self.instances.bit_count() == 1
        x = self.representation(features) if len(features) else NO_FEATURES
        drawn = self.hazards.drawn_log_odds(self.stream)
        view, planned_with = self._views(x, self.hazards.log_odds(), drawn)
        self.begun.begin(progress.begun, x, view, planned_with)
        first = self._next(x, offered, progress, planned_with, whole=whole)
        assert first is not None, "on a new instance everyone may run"
        if self.feature_budget.charged and len(x) and self.instances % WEIGHED == 0:
            self._weigh(x, offered, progress)
        return first

    def _forget(self) -> None:
        """With a window, let what was learned before one more instance count less."""
        if self.window:
            share = 1.0 / self.window
            self.hazards.forget(share)
            self.hardness.forget(share)
            self.forest.forget(share)
            self._latest = None

    def _weigh(self, x: Array, offered: Offered, progress: Progress) -> None:
        """Compare the best plan by features with what would be done without them.

        That is a first run and, when it fails, another for the rest. Plans may be longer, which is worth
        something with and without features: what it is worth without is taken off.
        """
        views = self.view(x), self.view(NO_FEATURES)
        best, blind = (self._plan(view, offered, progress) for view in views)
        assert best is not None
        assert blind is not None
        by_features, without = (
            self._planner(view.curves, offered, progress).followed(
                view.classes, progress.left, blind.algorithm, blind.budget
            )
            for view in views
        )
        longer = float(without.min() - blind.losses.min())
        lost = float(by_features[without.argmin()]) - longer - float(best.losses.min())
        self.feature_budget.gain.add(lost / (self.penalty * progress.cutoff))

    def proceed(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        begun = self.begun.of(progress.begun, x)
        return self._next(x, offered, progress, None if begun is None else begun.drawn)

    def _next(
        self, x: Array, offered: Offered, progress: Progress, view: View | None, *, whole: bool = False
    ) -> Choice | None:
        plan = self._plan(view or self.view(x), offered, progress, whole=whole)
        if plan is None:
            return None
        reason = "exploration" if whole else "lowest score"
        return Choice(plan.algorithm, reason, plan.losses, x, plan.budget)

    def _plan(self, view: View, offered: Offered, progress: Progress, *, whole: bool = False) -> Plan | None:
        assert progress.failed is not None
        planner = self._planner(view.curves, offered, progress)
        failed, left = progress.failed, progress.left
        plan = planner.plan(view.classes, failed, left, whole=whole, before_failures=True)
        if plan is None or whole or plan.budget >= left or np.count_nonzero(failed):
            return plan
        # Where a plan only equals it, one whole run wins.
        losses = planner.whole_runs(view.classes, left)
        if not self.calibration.prefers_whole(float(plan.losses.min()), float(losses.min())):
            return plan
        return Plan(int(losses.argmin()), left, losses)

    def _planner(self, curves: Curves, offered: Offered, progress: Progress) -> Planner:
        barred = np.full(curves.n_algorithms, offered is not None)
        if offered is not None:
            barred[offered] = False
        return Planner(curves, (self.penalty - 1.0) * progress.cutoff, barred)

    def transform(self, features: Array) -> Array:
        return super().transform(features) if len(features) else NO_FEATURES

    def consider(self, x: Array, offered: Offered, progress: Progress) -> Choice | None:
        """Return the first run of the best plan, by what is expected."""
        return self._next(x, offered, progress, self._begun_view(x))

    def judge(self, x: Array, progress: Progress, algorithms: Sequence[int]) -> Array:
        """Return the expected loss of the best plan that starts with each of these algorithms."""
        plan = self._plan(self._begun_view(x), None, progress)
        return np.zeros(len(algorithms)) if plan is None else plan.losses[list(algorithms)]

    def join(
        self,
        x: Array,
        offered: Sequence[int],
        progress: Progress,
        running: Mapping[int, float],
        *,
        budgets: Mapping[int, float] | None = None,
        free: int = 1,
    ) -> tuple[int, float] | None:
        """Return the best next run, given what happens on the other cores (`tailcut.schedules.race`)."""
        assert progress.failed is not None
        view = self.view(x)
        planner = self._planner(view.curves, np.array(offered), progress)
        if not running and free == 1:
            plan = planner.plan(view.classes, progress.failed, progress.left, before_failures=True)
            return None if plan is None else (plan.algorithm, plan.budget)
        planned = budgets or {}
        runs = [Lane(other, -since, planned.get(other, np.inf) - since) for other, since in running.items()]
        classes = view.given(progress.failed)
        return Race(planner, classes, progress.failed, running=runs, left=progress.left).next_run(free)

    def forecasts(self, x: Array, progress: Progress) -> Forecasts:
        assert progress.failed is not None
        view = self.view(x)
        return forecasts(view.curves, view.given(progress.failed), progress, self.penalty)

    def ended(self, begun: int) -> None:
        self.begun.end(begun)

    def _begun_view(self, x: Array) -> View:
        """Return what was expected of the latest instance if it is `x`, else what is now."""
        begun = self.begun.latest(x)
        return self.view(x) if begun is None else begun.view

    def view(self, x: Array) -> View:
        """Return what is now expected of all algorithms on an instance."""
        key = x.tobytes()
        if self._latest is None or self._latest[0] != key:
            (view,) = self._views(x, self.hazards.log_odds())
            self._latest = key, view
        return self._latest[1]

    def _views(self, x: Array, *bases: Array) -> list[View]:
        """Return what to expect of an instance, for each of these log-odds (K, J) on an average one."""
        shift, near = self.forest.shift(x)[:, None], self.forest.near(x)
        rows, alike = self.forest.alike(near)
        classes = np.concatenate([(1.0 - alike.sum()) * self.forest.classes(near), alike])
        odds = [self.forest.odds(rows, base + shift, CUTS) for base in bases]
        n_hardness = len(self.hardness.shift)
        return [View(table, classes, Curves(table, cuts=self.cuts), n_hardness) for table in odds]

    def learn(self, algorithm: int, x: Array, outcome: Outcome, progress: Progress, budget: float) -> None:
        """Learn the intervals that a run passed beyond what was known before it."""
        assert progress.failed is not None
        solved = outcome.status is Status.SOLVED
        end = progress.cutoff if outcome.time is None else outcome.time
        first = not np.count_nonzero(progress.failed)
        begun = self.begun.of(progress.begun, x)
        view = self.view(x) if begun is None else begun.view
        if first and len(x) and self.feature_budget.charged:
            predicted, without = (_unsolved(one, budget) for one in (view, self.view(NO_FEATURES)))
            self.feature_budget.check(algorithm, 0.0 if solved else 1.0, predicted, without)
        if solved:
            self.feature_budget.solved((progress.used + end) / progress.cutoff)
            self.ended(progress.begun)
        news = view.after(progress.failed, algorithm, end, solved)
        if news is None:
            return
        passage, evidence = news
        if first:
            self._forget()
        if len(view.classes) > view.n_hardness:
            self.forest.weigh(evidence.by_near, evidence.by_hardness)
        classes = evidence.hardness_after
        self.hardness.learn(None if first else evidence.hardness_before, classes)
        self.hazards.learn(algorithm, *passage, self.hardness.shift, classes)
        new = first if begun is None else not begun.entered
        self._remember(algorithm, x, end, solved, classes, first=new)
        self.begun.entered(x)
        self._latest = None
        if self.forest.due:
            self._grow()

    def _remember(
        self, algorithm: int, x: Array, end: float, solved: bool, classes: Array, **which: bool
    ) -> None:
        if len(x):
            share = min(max(end / self.cuts[-1], 1e-9), 1.0)
            self.forest.put(x, algorithm, share, solved, classes, **which)

    def _grow(self) -> None:
        self._latest = None
        self.hazards.learn_spread()
        self.forest.grow(self.hazards.log_odds(), CUTS)

    def learn_recorded(self, x: Array, runs: RecordedOutcomes, progress: Progress) -> None:
        """Learn recorded runs: all of them in the forest, the hazards from a sample.

        Some instances of which all outcomes are known are held back at first: on these, which the trees have
        not seen, the weight of similar instances and the calibration of plans are learned.
        """
        known = np.flatnonzero(runs.known.all(axis=1))
        held = known[len(known) - min(len(known) // 2, TRUST_SAMPLE) :].tolist()
        learned = self._learn_rows(x, runs, np.setdiff1d(np.arange(len(x)), held).tolist(), 0)
        if held and self.forest.grown:
            for row in held:
                self._rehearse(x[row], runs.seconds[row], runs.solved[row], progress.cutoff)
        self._learn_rows(x, runs, held, learned)

    def _learn_rows(self, x: Array, runs: RecordedOutcomes, rows: list[int], learned: int) -> int:
        """Learn these rows, and grow; return how many runs the hazards have learned of this record."""
        for row in rows:
            self._forget()
            known = np.flatnonzero(runs.known[row])
            times, solved = runs.seconds[row, known].tolist(), runs.solved[row, known].tolist()
            ended = list(zip(known.tolist(), times, solved, strict=True))
            if learned < HAZARD_SAMPLE:
                learned += len(ended)
                classes = self._learn_row(x[row], ended)
            else:
                classes = self.hardness.frequencies()
            for number, (algorithm, end, in_time) in enumerate(ended):
                self._remember(algorithm, x[row], end, in_time, classes, recorded=True, first=number == 0)
        self._latest = None
        if self.forest.due:
            self._grow()
        return learned

    def _learn_row(self, x: Array, ended: list[tuple[int, float, bool]]) -> Array:
        """Let the hazards learn recorded runs on one instance; return how hard it is."""
        (view,) = self._views(NO_FEATURES, self.hazards.log_odds())
        passages = []
        for algorithm, end, solved in ended:
            known = self.forest.failed_for(x, algorithm) * self.cuts[-1] if len(x) else 0.0
            passages.append((algorithm, passed(known, end, solved, self.cuts)))
        classes = view.after_all(passages).hardness_after
        self.hardness.learn(None, classes)
        for algorithm, passage in passages:
            self.hazards.learn(algorithm, *passage, self.hardness.shift, classes)
        return classes

    def _rehearse(self, x: Array, seconds: Array, solved: NDArray[np.bool_], cutoff: float) -> None:
        """Learn the weight of similar instances, and calibrate plans, from a fully known instance."""
        view = self.view(x)
        evidence = view.after_all(
            (algorithm, passed(0.0, float(seconds[algorithm]), bool(solved[algorithm]), self.cuts))
            for algorithm in range(len(seconds))
        )
        self.forest.weigh(evidence.by_near, evidence.by_hardness)
        planner = Planner(view.curves, (self.penalty - 1.0) * cutoff, np.zeros(len(seconds), dtype=np.bool_))
        everything = self.penalty * cutoff
        for kind, rehearse in enumerate(REHEARSALS):
            promised, paid = rehearse(view, planner, seconds, solved, cutoff)
            self.calibration.note(kind, promised / everything, paid / everything)

    def add_features(self, n_features: int) -> None:
        super().add_features(n_features)
        self.forest.add_features(self.representation.width)
        self.begun.forget()
        self._latest = None

    def restored(self) -> None:
        self._latest = None
        tables = [one.odds for begun in self.begun.instances.values() for one in (begun.view, begun.drawn)]
        same = all(len(odds) == len(self.hazards.skill) for odds in tables)
        expect(same, "at_hand: odds of other algorithms")

    def add(self) -> None:
        self.begun.forget()
        self.hazards.add()
        self.forest.add()
        self._grow()

    def remove(self, algorithm: int) -> None:
        self.begun.forget()
        self.hazards.remove(algorithm)
        self.forest.remove(algorithm)
        self._grow()


def _unsolved(view: View, seconds: float) -> Array:
    """Return the chance that a first run of so many seconds fails, shape (K,)."""
    survival, _ = view.curves.at_all(np.array([seconds]))
    return np.asarray(survival[0] @ view.classes)
