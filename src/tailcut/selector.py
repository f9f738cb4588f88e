"""The selector: `select()` an algorithm for an instance, `observe()` the outcome. Start reading here.

This module knows names and decisions. What to choose and what to learn is a policy (`tailcut.policies`),
built from parts by the catalogue; what a selector is made of, its properties and its files are in
`tailcut.policies.selector_base`. A schedule may `proceed()` to another algorithm on the same instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tailcut.catalogue import find_all, recipe
from tailcut.checks.inputs import check_seconds, check_whole_number
from tailcut.errors import NotExplainedError
from tailcut.explain.explanation import Explanation
from tailcut.explain.reasons import NOT_MADE, consider, explain_decision
from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies import warm_start
from tailcut.policies.joining import Durations, known_budgets, one_more_run
from tailcut.policies.measured import OutcomeMeasure
from tailcut.policies.pending import PendingRun, number_of
from tailcut.policies.policy import Choice
from tailcut.policies.recipes import Row
from tailcut.policies.selector_base import SelectorBase
from tailcut.policies.selector_like import Recorded
from tailcut.types import Array, Decision, Features, Origin, Outcome, Request


class Selector(SelectorBase):
    """Picks one of several algorithms for each instance of a stream and learns from the outcomes.

    `selector` is a name of the catalogue (`tailcut selectors` lists them) or a row of it (`Recipe`,
    `ScheduleRecipe`); further keywords are its hyperparameters. `cutoff` is the time in seconds after which
    an instance counts as unsolved. At most `max_pending` decisions wait for their outcome; beyond that the
    oldest is dropped, so feedback that never arrives costs no memory.

    Use a selector from one thread at a time.

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
        super().__init__(
            selector if isinstance(selector, Row) else recipe(selector),
            algorithms,
            cutoff,
            seed=seed,
            feature_names=feature_names,
            max_pending=max_pending,
            hyperparameters=hyperparameters,
        )

    def feature_budget(self, *, cutoff: float | None = None) -> float:
        """Return how many seconds computing the next instance's features may take; 0: skip them.

        Call this before each instance. If it returns 0, or the features are not ready in time, pass None to
        `select`. Selectors that cannot skip features have the whole cutoff. Changes nothing.

        >>> Selector("tailcut", algorithms=["a", "b"], cutoff=300).feature_budget()
        30.0
        >>> Selector("epsilon_greedy", algorithms=["a", "b"], cutoff=300).feature_budget()
        0.0
        """
        limit = self._cutoff if cutoff is None else check_seconds("cutoff", cutoff, above_zero=True)
        if self._budget is not None:
            return self._budget.seconds(limit)
        return limit if self.needs_features else 0.0

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
        Selectors that do not look at features need none, and those that can skip them accept None. `cutoff`
        and `among` (a subset of the algorithms) apply to this instance only. `feature_cost` is how many
        seconds computing the features took, even if given up (`feature_budget`), and `spent` is the time used
        for other reasons. Both count: the run gets at most the rest of the cutoff.
        """
        return self.decide(Request(features, instance, cutoff, among, spent, feature_cost))

    def decide(self, request: Request) -> Decision:
        """Return what `select` returns, for a complete `Request`."""
        self._check_features(request)
        limit = request.limit(self._cutoff)
        used = request.used(limit)
        offered = None if request.among is None else self._offered(request.among)
        if self._favourite.favourite:
            offered = self._admitted(offered)
        vector = self._reader.read(request.features)
        if self._budget is not None:
            given, cost = request.features is not None, request.feature_cost
            vector = self._budget.admit(vector, given=given, cost=cost, cutoff=limit)
        choice = self._ready().choose(vector, offered, self._progress(limit, used))
        name = self._algorithms[choice.algorithm]
        among = None if offered is None else tuple(self._algorithms[a] for a in offered)
        failed = dict(request.failed or {}) if self._schedules else None
        run = PendingRun(name, request.instance, limit, choice.x, choice.budget, used, 0, among, failed)
        self._favourite.began(run)
        return self._decided(choice, run, vector, offered)

    def race(
        self,
        features: Features = None,
        *,
        k: int,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        spent: float = 0.0,
        feature_cost: float = 0.0,
        running: Mapping[str, float] | None = None,
        failed: Mapping[str, float] | None = None,
    ) -> list[Decision]:
        """Return up to `k` runs to make at once on an instance: those that are best together.

        The first answer wins. Observe every decision; the other runs are censored at the time they were
        stopped. When a run ends without an answer, call `race` again for the free core: `running` says for
        how long the others have been running, `failed` how long the ended ones ran, and `spent` is the wall
        time since the instance began. All times are wall time: k runs at once use it only once.

        >>> selector = Selector("tailcut_schedule", algorithms=["a", "b", "c"], cutoff=60)
        >>> [decision.algorithm for decision in selector.race([1.0], k=2)]
        ['a', 'b']
        """
        request = Request(features, instance, cutoff, among, spent, feature_cost)
        made: list[Decision] = []
        while len(made) < check_whole_number("k", k, at_least=1):
            begun = {**(running or {}), **{one.algorithm: 0.0 for one in made}}
            following = self.joining(request, begun, failed, free=k - len(made))
            if following is None:
                break
            made.append(self.decide(following))
        return made

    def joining(
        self, request: Request, running: Durations, failed: Durations | None = None, *, free: int = 1
    ) -> Request | None:
        """Return the request for a run on one of `free` cores, None if none is left. Decides nothing."""
        offered = None if request.among is None else self._offered(request.among)
        pool = range(len(self._algorithms)) if offered is None else offered.tolist()
        policy = self._policy
        x = NO_FEATURES if policy is None else policy.peek(self._raw(request.features))
        return one_more_run(
            policy,
            request,
            x,
            pool,
            algorithms=self._algorithms,
            cutoff=self._cutoff,
            schedules=self._schedules,
            running=running,
            failed=failed or {},
            budgets=known_budgets(self._pending.runs, running, request.instance),
            free_cores=free,
        )

    def _decided(
        self, choice: Choice, run: PendingRun, features: Array | None, offered: NDArray[np.intp] | None
    ) -> Decision:
        """Return the policy's choice as a numbered decision that waits for its outcome."""
        scores = dict(zip(self._algorithms, choice.scores.tolist(), strict=True))
        if offered is not None:
            scores = {name: scores[name] for name in (self._algorithms[a] for a in offered)}
        return Decision(
            self._pending.enter(run),
            run.instance,
            run.algorithm,
            run.budget,
            run.cutoff,
            scores,
            choice.reason,
            run.stage,
            run.spent,
            Origin(ref(self), features, run.x, self._pending.learned, run.failed),
        )

    def observe(
        self,
        decision: Decision | int,
        outcome: Outcome | None = None,
        *,
        runtime: float | None = None,
        censored_at: float | None = None,
        failed: bool = False,
        loss: float | None = None,
    ) -> bool:
        """Learn an outcome: exactly one of `runtime`, `censored_at`, `failed`, `loss` or an `Outcome`.

        `loss` says how bad the answer was, from 0 to 1 (`Outcome.rated` accepts other bounds), if you
        minimise a loss instead of runtime (docs/howto/solution-quality.md). A selector learns one or the
        other. Outcomes may arrive late and in any order. Each decision is observed once: the same outcome
        again is accepted and changes nothing (False is returned), a different one is an error. An outcome for
        an algorithm that has been removed is accepted and ignored.
        """
        outcome = Outcome.one_of(outcome, runtime, censored_at, failed, loss)
        measure = self._measure.after(OutcomeMeasure.of(outcome), self._recipe, find_all)
        run = self._pending.settle(decision, outcome)
        if run is None:
            return False
        self._measure = measure
        self._favourite.observed(run, outcome, last=run.failed is None)
        if run.algorithm in self._algorithms:  # else it was removed
            assert self._policy is not None
            algorithm = self._algorithms.index(run.algorithm)
            self._policy.learn(algorithm, run.x, outcome, run.progress(self._algorithms), run.budget)
            self._pending.learned += 1
        return True

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Return the next run on the instance of an observed decision, or None if there is none.

        There is none if the instance was solved, if its cutoff is used up, if the selector gives it up, and
        for selectors that pick once (unless the run failed and `fail_over=1`). So one loop works for all
        selectors:

        >>> selector = Selector("round_robin", algorithms=["a", "b"], cutoff=60)
        >>> decision = selector.select()
        >>> while decision is not None:
        ...     print(decision.stage, decision.algorithm, decision.budget, decision.spent)
        ...     _ = selector.observe(decision, censored_at=decision.budget)
        ...     decision = selector.proceed(decision)
        0 a 30.0 0.0
        1 b 30.0 30.0

        `spent` states how many seconds of the cutoff have been used; by default the whole budget of a failed
        run counts. A failed algorithm is not tried again on the same instance.
        """
        number, run = self._pending.find_open(decision)
        if run is None:
            return None
        if spent is not None:
            run = run._replace(spent=check_seconds("spent", spent))
        choice, offered = self._next(run)
        del self._pending.open[number]
        if choice is None:
            self._favourite.given_up(run)
            return None
        origin = decision.origin if isinstance(decision, Decision) else None
        name = self._algorithms[choice.algorithm]
        run = run._replace(algorithm=name, x=choice.x, budget=choice.budget, stage=run.stage + 1)
        following = self._decided(choice, run, None if origin is None else origin.features, offered)
        self._pending.continued[number] = following.id
        return following

    def _next(self, run: PendingRun) -> tuple[Choice | None, NDArray[np.intp] | None]:
        """Ask the policy how to continue with an open instance; also return what it was offered."""
        alone = self._favourite.has_alone(run)  # others may use the time that it leaves
        numbers = (run._replace(among=None) if alone else run).still_offered(self._algorithms)
        if numbers == [] or not run.time_is_left:
            return None, None
        assert self._policy is not None
        offered = None if numbers is None else np.array(numbers)
        return self._policy.proceed(run.x, offered, run.progress(self._algorithms)), offered

    def continuation(self, decision: Decision | int) -> int | None:
        """Return the number of the decision that continued the same instance, if any."""
        return self._pending.continued.get(number_of(decision))

    def fit(self, scenario: Recorded, *, known: NDArray[np.bool_] | None = None) -> int:
        """Learn from recorded runs, before the first decision or later; return how many there were.

        `scenario` is one of `tailcut.scenarios`, or an object with the same attributes. Algorithms are
        matched by name: unknown ones are ignored, and those without runs stay untried. Features are matched
        by name if both sides have names, and additional ones are ignored; otherwise their number must agree.
        Runs are learned as if stopped at the shorter of the two cutoffs. Unknown runs are skipped: unsolved
        ones without a runtime (nan), and those marked unknown by `known`, shape (n, K). Features that a
        decision would not wait for count as missing. See docs/howto/warm-start.md.
        """
        past = warm_start.matched(scenario, known, self._algorithms, self._cutoff)
        longest = None if self._budget is None else self._budget.longest(self._cutoff)
        features = warm_start.features_of(
            scenario, past.rows, self._reader, needed=self.needs_features, longest=longest
        )
        given = OutcomeMeasure.TIME if past.runs.losses is None else OutcomeMeasure.LOSS
        self._measure = self._measure.after(given, self._recipe, find_all)
        policy = self._ready()
        cutoff, seed = self._cutoff, self._seed
        return warm_start.teach(policy, past, features, cutoff=cutoff, seed=seed, schedules=self._schedules)

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision of this selector was made, according to its current belief.

        Like `decision.explain()`, but also for decisions that were pickled, or made before this selector was
        saved and loaded. `top` features are shown. Changes nothing.
        """
        return explain_decision(self._view(top), decision, self._pending)

    def consider(
        self,
        features: Features = None,
        *,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        top: int = 5,
    ) -> Explanation:
        """Return what would be chosen for an instance, and why. Decides, draws and learns nothing.

        `features` are as in `select`. Scores have no random part, so `select` may choose otherwise.
        """
        request = Request(features, cutoff=cutoff, among=among)
        self._check_features(request)
        view = self._view(top)
        offered = None if request.among is None else self._offered(request.among)
        progress = self._progress(request.limit(self._cutoff), 0.0)
        return consider(view, self._raw(features), progress, offered)

    def preview(self, request: Request, failed: Mapping[str, float] | None = None) -> Decision | None:
        """Return the run that would be chosen without randomness; None if there is none.

        Decides, draws and learns nothing. For a schedule that is to continue, `failed` is how long each
        algorithm has already run unsuccessfully on the instance; `request.spent` includes that time.
        """
        self._check_features(request)
        among = None if request.among is None else tuple(request.among)
        if among is not None:
            self._offered(among)  # raises if it names unknown algorithms
        limit, used = request.limit(self._cutoff), request.spent + request.feature_cost
        before = dict(failed or {}) if self._schedules else None
        run = PendingRun("", request.instance, limit, NO_FEATURES, 0.0, used, among=among, failed=before)
        numbers = run.still_offered(self._algorithms)
        if numbers == [] or not run.time_is_left:
            return None
        skipped = request.features is None and self._budget is not None and not request.feature_cost
        raw = NO_FEATURES if skipped else self._reader.copy().read(request.features)
        policy = self._view(0).policy
        offered = None if numbers is None else np.array(numbers)
        choice = policy.consider(policy.peek(raw), offered, run.progress(self._algorithms))
        if choice is None:
            if not failed:
                raise NotExplainedError(f"{self.name} cannot preview a decision without randomness")
            return None
        return Decision(
            id=NOT_MADE,
            instance=request.instance,
            algorithm=self._algorithms[choice.algorithm],
            budget=choice.budget,
            cutoff=limit,
            scores=dict(zip(self._algorithms, choice.scores.tolist(), strict=True)),
            reason=choice.reason,
            spent=used,
        )

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
        self._restore(state)
        return self
