"""The selector: `select()` an algorithm for an instance, `observe()` how it went. Start reading here.

This module knows names, decisions and files. What to choose and what to learn is a policy
(`tailcut.policies.one_pick`), put together from parts by the catalogue. A schedule may `proceed()` to another
algorithm on the same instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tailcut.catalogue import recipe
from tailcut.errors import InputError, NotExplainedError
from tailcut.explain.explainer import View, consider, explain_decision
from tailcut.explain.explanation import Explanation
from tailcut.numerics import special
from tailcut.policies import warm_start
from tailcut.policies.intake import Intake
from tailcut.policies.one_pick import Choice, Chooser, Sparing, go_on
from tailcut.policies.pending import Ledger
from tailcut.policies.recipes import Row
from tailcut.policies.runs import Run
from tailcut.policies.validation import (
    FeatureReader,
    Features,
    chosen_among,
    cutoff_seconds,
    instance_name,
    names,
    one_outcome,
    seconds_before,
    spent_seconds,
    whole_number,
)
from tailcut.policies.warm_start import Recorded
from tailcut.state.saving import Saved
from tailcut.types import Array, Decision, Outcome, Progress


class Selector(Saved):
    """Picks one of several algorithms for each instance of a stream and learns from the outcomes.

    `selector` is a name of the catalogue (`tailcut selectors` lists them) or a row of it (`Recipe`,
    `ScheduleRecipe`); further keywords are its hyperparameters. `cutoff` is the time in seconds after which
    an instance counts as unsolved. At most `max_pending` decisions wait for their outcome; when there are
    more, the oldest is given up, so feedback that never arrives costs no memory.

    A selector is used from one thread at a time.

    >>> selector = Selector("thompson_rev", algorithms=["kissat", "minisat"], cutoff=300, seed=0)
    >>> decision = selector.select([0.3, 120.0], instance="i1")
    >>> decision.algorithm, decision.budget, decision.reason
    ('kissat', 300.0, 'first run')
    >>> selector.observe(decision, runtime=12.3)
    True
    >>> late = selector.select([0.4, 110.0], instance="i2")
    >>> selector.observe(late.id, censored_at=300)
    True
    """

    def __init__(
        self,
        selector: str | Row,
        algorithms: Iterable[str],
        cutoff: float,
        *,
        seed: int = 0,
        feature_names: Iterable[str] | None = None,
        max_pending: int = 10_000,
        **hyperparameters: Any,
    ) -> None:
        self._recipe = selector if isinstance(selector, Row) else recipe(selector)
        self._settings = self._recipe.settings(hyperparameters)
        self._algorithms = names("algorithms", algorithms)
        if not self._algorithms:
            raise InputError("algorithms must name at least one algorithm")
        self._cutoff = cutoff_seconds(cutoff)
        self._seed = whole_number("seed", seed, at_least=0)
        self._ledger = Ledger(whole_number("max_pending", max_pending, at_least=1))
        named = None if feature_names is None else names("feature_names", feature_names)
        thrift = self._recipe.thrift(self._settings)
        self._features = Intake(named, needed=self._recipe.needs_features, thrift=thrift)
        self._schedules = self._recipe.schedules
        self._policy: Chooser | None = None  # made by the first select(): only then d is known
        special.load()

    def _build(self, n_features: int) -> Chooser:
        sizes = {"n_algorithms": len(self._algorithms), "n_features": n_features}
        return self._recipe.build(self._settings, **sizes, seed=self._seed, thrift=self._features.thrift)

    def _ready(self, known: int | None) -> Chooser:
        """Return the policy, made for as many features as there are by now; before, `known` were."""
        width = self._features.width or 0
        if self._policy is None:
            self._policy = self._build(width)
        elif self.spares_features and known is None and width:
            wider = self._build(width)
            assert isinstance(wider, Sparing)
            wider.take_over(self._policy)
            self._policy = wider
        return self._policy

    def __repr__(self) -> str:
        return f"Selector({self.name!r}, algorithms={list(self._algorithms)}, cutoff={self._cutoff:g})"

    @property
    def name(self) -> str:
        """The selector's name in the catalogue."""
        return self._recipe.name

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms to choose from, in order."""
        return self._algorithms

    @property
    def cutoff(self) -> float:
        """Seconds after which an instance counts as unsolved, unless a call says otherwise."""
        return self._cutoff

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters in use."""
        return dict(self._settings)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, in order, if they have any."""
        return self._features.names

    @property
    def n_features(self) -> int | None:
        """The number of features; None while it is not known."""
        return self._features.width

    @property
    def needs_features(self) -> bool:
        """Whether the selector looks at features at all."""
        return self._recipe.needs_features

    @property
    def spares_features(self) -> bool:
        """Whether it can do without features where they cost more than they bring (docs/thrift.md)."""
        return self._features.thrift is not None

    def feature_budget(self, *, cutoff: float | None = None) -> float:
        """Return how many seconds computing the next instance's features may take; 0: do without them.

        Ask before each instance. When the time is over and they are not there, or when it is 0, pass None
        to `select`. Selectors that cannot do without have the whole cutoff. Changes nothing.

        >>> Selector("tailcut", algorithms=["a", "b"], cutoff=300).feature_budget()
        30.0
        >>> Selector("epsilon_greedy", algorithms=["a", "b"], cutoff=300).feature_budget()
        0.0
        """
        return self._features.budget(self._cutoff if cutoff is None else cutoff_seconds(cutoff))

    @property
    def schedules(self) -> bool:
        """Whether `proceed` may run another algorithm on the same instance."""
        return self._schedules

    @property
    def pending(self) -> tuple[int, ...]:
        """The ids of the decisions that wait for an outcome, oldest first."""
        return tuple(self._ledger.pending)

    def select(
        self,
        features: Features = None,
        *,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        spent: float = 0.0,
        feature_cost: float = 0.0,
    ) -> Decision:
        """Return which algorithm to run on the instance with these `features`, and for how long.

        `features` is a vector, or a mapping from feature names to values; nan (or an absent name) is a
        missing value. The first call fixes their number, and their names and order if it is a mapping.
        Selectors that look at no features need none, and those that spare them may get None. `cutoff` and
        `among` (a subset of the algorithms) hold for this instance only. `feature_cost` is how many
        seconds it took to compute the features, or to try (`feature_budget`), and `spent` what was
        used on the instance for other reasons. Both count: the run gets at most the rest of the cutoff.
        """
        if features is None and self.needs_features and not self.spares_features:
            raise InputError(f"{self.name} chooses by features: pass them to select()")
        instance = instance_name(instance)
        limit = self._cutoff if cutoff is None else cutoff_seconds(cutoff)
        if spent != 0.0 or feature_cost != 0.0:
            spent, feature_cost = seconds_before(spent, feature_cost, limit)
        offered = None if among is None else chosen_among(among, self._algorithms)
        known = self._features.width
        vector = self._features.take(features, feature_cost, limit)
        policy = self._ready(known)
        if not self._schedules:
            choice = policy.choose(vector, offered, Progress(limit, spent, None))
            return self._decide(choice, vector, offered, instance, limit, spent)
        progress = Progress(limit, spent, np.zeros(len(self._algorithms)))
        choice = policy.choose(vector, offered, progress)
        subset = None if offered is None else tuple(self._algorithms[a] for a in offered)
        return self._decide(choice, vector, offered, instance, limit, spent, 0, subset, {})

    def _decide(
        self,
        choice: Choice,
        features: Array | None,
        offered: NDArray[np.intp] | None,
        instance: str | None,
        cutoff: float,
        spent: float,
        stage: int = 0,
        among: tuple[str, ...] | None = None,
        failed: Mapping[str, float] | None = None,
    ) -> Decision:
        """Return the policy's choice under a number, which waits for its outcome from now on."""
        algorithm, reason, scores, x, budget = choice
        values = scores.tolist()
        shown = range(len(values)) if offered is None else offered
        name = self._algorithms[algorithm]
        by_name = {self._algorithms[a]: values[a] for a in shown}
        run = Run(name, instance, cutoff, x, budget, spent, stage, among, failed)
        number = self._ledger.enter(run)
        origin = (ref(self), features, x, self._ledger.learned, failed)
        return Decision(number, instance, name, budget, cutoff, by_name, reason, stage, spent, origin)

    def observe(
        self,
        decision: Decision | int,
        outcome: Outcome | None = None,
        *,
        runtime: float | None = None,
        censored_at: float | None = None,
        failed: bool = False,
    ) -> bool:
        """Learn how a decision went: `runtime`, `censored_at`, `failed`, or an `Outcome`; exactly one.

        Outcomes may come late and in any order. Each decision is observed once: the same outcome again
        is accepted and changes nothing (False is returned), a different one is an error. An outcome
        for an algorithm that has been removed is taken and teaches nothing.
        """
        outcome = one_outcome(outcome, runtime, censored_at, failed)
        run = self._ledger.settle(decision, outcome)
        if run is None:
            return False
        if run.algorithm in self._algorithms:
            assert self._policy is not None
            algorithm = self._algorithms.index(run.algorithm)
            self._policy.learn(algorithm, run.x, outcome, run.progress(self._algorithms), run.budget)
            self._ledger.learned += 1
        return True

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Return what to run next on the instance of a decision that was observed; None: it is over.

        It is over when it was solved, when nothing of its cutoff is left, when the selector gives it up,
        and always for selectors that pick once. So one loop serves them all:

        >>> selector = Selector("round_robin", algorithms=["a", "b"], cutoff=60)
        >>> decision = selector.select()
        >>> while decision is not None:
        ...     print(decision.stage, decision.algorithm, decision.budget, decision.spent)
        ...     _ = selector.observe(decision, censored_at=decision.budget)
        ...     decision = selector.proceed(decision)
        0 a 30.0 0.0
        1 b 30.0 30.0

        `spent` is how many seconds of the cutoff have been used on the instance, where the caller knows
        better: of a failed run the whole budget counts as used. What failed is not tried again on the
        same instance.
        """
        number, run = self._ledger.find_open(decision)
        if run is None:
            return None
        if spent is not None:
            run = run._replace(spent=spent_seconds(spent))
        assert self._policy is not None
        choice, offered = go_on(self._policy, run, self._algorithms) if run.time_is_left else (None, None)
        del self._ledger.open[number]
        if choice is None:
            return None
        _, instance, cutoff, _, _, used, stage, among, failed = run
        origin = decision.origin if isinstance(decision, Decision) else None
        features = None if origin is None else origin[1]
        following = self._decide(choice, features, offered, instance, cutoff, used, stage + 1, among, failed)
        self._ledger.continued[number] = following.id
        return following

    def fit(self, scenario: Recorded, *, known: NDArray[np.bool_] | None = None) -> int:
        """Learn from recorded runs, before the first decision or in between; return how many there were.

        `scenario` is one of `tailcut.scenarios`, or anything like it. Algorithms are matched by name: those
        unknown here are ignored, those without runs stay untried. Features are matched by name where both
        sides have names, further ones are ignored; else their number must agree. Runs are learned as if
        stopped at the shorter of the two cutoffs. Left out are runs that are unknown: unsolved without
        a runtime (nan), or told so by `known`, shape (n, K). See docs/warm-start.md.
        """
        past = warm_start.matched(scenario, known, self._algorithms, self._cutoff)
        width = self._features.width
        features = warm_start.features_of(scenario, past.rows, self._features, needed=self.needs_features)
        return warm_start.teach(
            self._ready(width),
            past,
            features,
            cutoff=self._cutoff,
            seed=self._seed,
            schedules=self._schedules,
        )

    def explain(self, decision: Decision, *, top: int = 5) -> Explanation:
        """Return why a decision of this selector fell as it did, by what the selector believes now.

        The same as `decision.explain()`, also for a decision that was pickled, and for one that was made
        before this selector was saved and loaded. `top` features are told. Changes nothing.
        """
        return explain_decision(self._view(top), decision, self._ledger)

    def consider(
        self,
        features: Features = None,
        *,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        top: int = 5,
    ) -> Explanation:
        """Return what would be chosen for an instance, and why, without deciding, drawing or learning.

        The scores are those without any luck in them, so `select` may still choose another.
        """
        limit = self._cutoff if cutoff is None else cutoff_seconds(cutoff)
        offered = (
            range(len(self._algorithms)) if among is None else chosen_among(among, self._algorithms).tolist()
        )
        # A copy of the reader, since the first call settles names.
        reader = FeatureReader(self._features.names, self._features.width)
        return consider(self._view(top), reader.read(features), limit, offered)

    def _view(self, top: int) -> View:
        if self._policy is None:
            raise NotExplainedError(f"{self.name} has not decided anything yet: there is nothing to explain")
        top = whole_number("top", top, at_least=0)
        return View(self._policy, self.name, self._algorithms, self._features.names, top)

    def add_algorithm(self, name: str) -> None:
        """Offer one more algorithm from now on."""
        (name,) = names("algorithm", [name])
        if name in self._algorithms:
            raise InputError(f"there is an algorithm {name!r} already")
        self._algorithms = (*self._algorithms, name)
        if self._policy is not None:
            self._policy.add()

    def remove_algorithm(self, name: str) -> None:
        """Stop offering an algorithm and forget what was learned of it."""
        if name not in self._algorithms:
            raise InputError(f"there is no algorithm {name!r}; known: {', '.join(self._algorithms)}")
        if len(self._algorithms) == 1:
            raise InputError(f"{name!r} is the only algorithm left; a selector needs at least one")
        if self._policy is not None:
            self._policy.remove(self._algorithms.index(name))
        self._algorithms = tuple(other for other in self._algorithms if other != name)

    def _state(self) -> dict[str, Any]:
        return {
            "selector": self.name,
            "settings": self._settings,
            "algorithms": list(self._algorithms),
            "cutoff": self._cutoff,
            "seed": self._seed,
            **self._features.state(),
            "max_pending": self._ledger.limit,
            **self._ledger.state(),
            "policy": None if self._policy is None else self._policy.state(),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Selector:
        self = cls(
            state["selector"],
            state["algorithms"],
            state["cutoff"],
            seed=state["seed"],
            feature_names=state["feature_names"],
            max_pending=state["max_pending"],
            **state["settings"],
        )
        self._features.restore(state)
        if state["policy"] is not None:
            self._policy = self._build(state["n_features"] or 0)
            self._policy.restore(state["policy"])
        self._ledger.restore(state)
        return self
