"""The selector: `select()` an algorithm for an instance, `observe()` the outcome. Start reading here.

This module knows names and decisions. What to choose and what to learn is a policy (`tailcut.policies`),
built from parts by the catalogue. A schedule may `proceed()` to another algorithm on the same instance.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tailcut import state as statefile
from tailcut.catalogue import find_all, recipe
from tailcut.errors import ConcurrentUseError, InputError, NotExplainedError, StateFileError
from tailcut.explain import Explanation, explain
from tailcut.numerics.randomness import stream
from tailcut.policies.pending import PendingDecisions, PendingRun, number_of
from tailcut.policies.policy import Choice, Offered, Policy
from tailcut.policies.recipes import Row
from tailcut.policies.recorded_runs import Recorded, RecordedRuns
from tailcut.representation import FeatureReader
from tailcut.state import expect
from tailcut.types import (
    NO_FEATURES,
    Array,
    Decision,
    Features,
    Origin,
    Outcome,
    Progress,
    Request,
    Status,
    check_names,
    check_seconds,
    check_whole_number,
)

_NOT_MADE = -1
"""The number of a decision that was only considered."""


class Selector:
    """Picks one of several algorithms for each instance of a stream and learns from the outcomes.

    `selector` is a name of the catalogue (`tailcut selectors` lists them) or a row of it (`Recipe`,
    `ScheduleRecipe`); further keywords are its hyperparameters. `cutoff` is the time in seconds after which
    an instance counts as unsolved. At most `max_pending` decisions wait for their outcome; beyond that the
    oldest is dropped, so feedback that never arrives costs no memory.

    Use a selector from one thread at a time: it raises `ConcurrentUseError` where it notices that another
    thread is using it. Decisions know their selector: that of another one is refused, even if it is pickled.

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
        self._recipe = (selector if isinstance(selector, Row) else recipe(selector)).if_installed()
        self._settings = self._recipe.settings(hyperparameters)
        self._algorithms = check_names("algorithms", algorithms)
        if not self._algorithms:
            raise InputError("algorithms must name at least one algorithm", field="algorithms")
        self._cutoff = check_seconds("cutoff", cutoff, above_zero=True)
        self._seed = check_whole_number("seed", seed, at_least=0)
        self._pending = PendingDecisions(check_whole_number("max_pending", max_pending, at_least=1))
        self._reader = FeatureReader(
            None if feature_names is None else check_names("feature_names", feature_names)
        )
        self._budget = self._recipe.feature_budget(self._settings)
        self._schedules = self._recipe.may_proceed(self._settings)
        self._favourite = self._recipe.favourite(self._settings)
        self._one_at_a_time = OneAtATime()
        self._measure = ""
        """What outcomes measure, "time" or "loss"; empty until that is known."""
        self._policy: Policy | None = None  # made by the first select(): only then d is known

    def __repr__(self) -> str:
        return f"Selector({self.name!r}, algorithms={list(self._algorithms)}, cutoff={self._cutoff:g})"

    @property
    def identity(self) -> int:
        """What ties decisions to it; `save` keeps it, `to_bytes` does not. 0: only their contents count."""
        return self._pending.identity

    @identity.setter
    def identity(self, identity: int) -> None:
        self._pending.identity = identity

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
        """Seconds after which an instance counts as unsolved, unless a call sets its own."""
        return self._cutoff

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters in use."""
        return dict(self._settings)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, in order, if they have names."""
        return self._reader.names

    @property
    def n_features(self) -> int | None:
        """The number of features; None until it is known."""
        return self._reader.width

    @property
    def needs_features(self) -> bool:
        """Whether the selector looks at features at all."""
        return self._settings.get("representation", "none") != "none"

    @property
    def may_skip_features(self) -> bool:
        """Whether it can skip features that cost more than they gain (docs/howto/feature-budget.md)."""
        return self._budget is not None

    @property
    def can_be_saved(self) -> bool:
        """Whether `save` works: the libraries of some third-party selectors support only pickle."""
        return self._recipe.can_be_saved

    @property
    def takes_losses(self) -> bool:
        """Whether `observe(decision, loss=...)` works: not for schedules, nor for models of runtimes."""
        return self._recipe.takes_losses

    @property
    def rated(self) -> bool:
        """Whether it has learned losses instead of runtimes."""
        return self._measure == "loss"

    @property
    def schedules(self) -> bool:
        """Whether `proceed` may run another algorithm on the same instance."""
        return self._schedules

    @property
    def decisions(self) -> int:
        """The number of decisions made."""
        return self._pending.next_id

    @property
    def pending(self) -> tuple[int, ...]:
        """The ids of the decisions that wait for an outcome, oldest first."""
        return tuple(self._pending.runs)

    def add_algorithm(self, name: str) -> None:
        """Add an algorithm."""
        with self._one_at_a_time:
            (name,) = check_names("algorithm", [name])
            if name in self._algorithms:
                raise InputError(f"there is an algorithm {name!r} already", field="algorithm")
            self._algorithms = (*self._algorithms, name)
            if self._policy is not None:
                self._policy.add()

    def remove_algorithm(self, name: str) -> None:
        """Remove an algorithm and forget what was learned about it."""
        with self._one_at_a_time:
            if name not in self._algorithms:
                names = ", ".join(self._algorithms)
                raise InputError(f"there is no algorithm {name!r}; known: {names}", field="algorithm")
            if len(self._algorithms) == 1:
                raise InputError(
                    f"{name!r} is the only algorithm left; a selector needs at least one", field="algorithm"
                )
            if self._policy is not None:
                self._policy.remove(self._algorithms.index(name))
            self._algorithms = tuple(other for other in self._algorithms if other != name)

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
        missing value. A Series, or one row of a table, of pandas or polars is read by its names, too. The
        first call fixes their number, and their names and order if it has names.
        Selectors that do not look at features need none, and those that can skip them accept None. `cutoff`
        and `among` (a subset of the algorithms) apply to this instance only. `feature_cost` is how many
        seconds computing the features took, even if given up (`feature_budget`), and `spent` is the time used
        for other reasons. Both count: the run gets at most the rest of the cutoff.
        """
        return self.decide(Request(features, instance, cutoff, among, spent, feature_cost))

    def decide(self, request: Request) -> Decision:
        """Return what `select` returns, for a complete `Request`."""
        with self._one_at_a_time:
            self._check_features(request)
            limit = request.limit(self._cutoff)
            used = request.used(limit)
            offered = None if request.among is None else self._offered(request.among)
            among = None if offered is None else self._names(offered)
            alone = self._favourite.goes_alone(self._names(offered))
            if alone:
                offered = np.array([self._algorithms.index(self._favourite.favourite)])
            vector = self._reader.read(request.features)
            if self._budget is not None:
                given, cost = request.features is not None, request.feature_cost
                vector = self._budget.admit(vector, given=given, cost=cost, cutoff=limit)
            begun = self._pending.next_id
            choice = self._ready().choose(vector, offered, self._progress(limit, used, begun))
            name = self._algorithms[choice.algorithm]
            failed = dict(request.failed or {}) if self._schedules else None
            if request.failed is not None:  # in a race
                among, alone = (name,), False
            run = PendingRun(
                name, request.instance, limit, choice.x, choice.budget, used, 0, among, failed, alone, begun
            )
            self._favourite.began(run)
            return self._decided(self._pending.enter(run), choice, run, vector, offered)

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
            begun = {**(running or {}), **{decision.algorithm: 0.0 for decision in made}}
            following = self.joining(request, begun, failed, free=k - len(made))
            if following is None:
                break
            made.append(self.decide(following))
        return made

    def joining(
        self,
        request: Request,
        running: Mapping[str, float],
        failed: Mapping[str, float] | None = None,
        *,
        free: int = 1,
    ) -> Request | None:
        """Return the request for a run on one of `free` cores, None if none is left. Decides nothing."""
        ended = failed or {}
        with self._one_at_a_time:
            offered = None if request.among is None else self._offered(request.among)
            pool = range(len(self._algorithms)) if offered is None else offered.tolist()
            names, policy = self._algorithms, self._policy
            begun = {**ended, **running}
            # A schedule may run an algorithm longer that was stopped; one that failed used the cutoff.
            barred = running if self._schedules else begun
            candidates = [number for number in pool if names[number] not in barred]
            limit = request.limit(self._cutoff)
            used = request.used(limit)
            if self._schedules:
                candidates = [number for number in candidates if begun.get(names[number], 0.0) < limit - used]
            if not candidates:
                return None
            request = replace(request, failed=ended)  # what a schedule does is learned given these failures
            if policy is None:
                return replace(request, among=[names[candidates[0]]])
            tried = np.array([begun.get(name, 0.0) for name in names]) if self._schedules else None
            progress = Progress(limit, used, tried)
            budgets = self._pending.budgets(running, request.instance)
            best = policy.join(
                policy.transform(self._raw(request.features)),
                candidates,
                progress,
                {number: running[name] for number, name in enumerate(names) if name in running},
                budgets={number: budgets[name] for number, name in enumerate(names) if name in budgets},
                free=free,
            )
            if best is None:
                return replace(
                    request, among=[names[number] for number in candidates[: 1 if begun else None]]
                )
            algorithm, seconds = best
            slice_end = used + seconds if seconds < progress.left else request.cutoff
            return replace(request, among=[names[algorithm]], cutoff=slice_end)

    def _decided(
        self, number: int, choice: Choice, run: PendingRun, features: Array | None, offered: Offered
    ) -> Decision:
        """Return the policy's choice as the decision of this number."""
        scores = dict(zip(self._algorithms, choice.scores.tolist(), strict=True))
        if offered is not None:
            scores = {name: scores[name] for name in self._names(offered)}
        return Decision(
            number,
            run.instance,
            run.algorithm,
            run.budget,
            run.cutoff,
            scores,
            choice.reason,
            run.stage,
            run.spent,
            Origin(ref(self), features, run.x, self._pending.learned, run.failed, self._pending.identity),
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
        with self._one_at_a_time:
            measure = self._measure_after(
                "" if outcome.status is Status.FAILED else "time" if outcome.loss is None else "loss"
            )
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
        with self._one_at_a_time:
            number, run = self._pending.find_open(decision)
            if run is None:
                return None
            if spent is not None:
                run = run._replace(spent=check_seconds("spent", spent))
            choice, offered = self._next(run)
            del self._pending.open[number]
            if choice is None:
                self._favourite.given_up(run)
                if self._policy is not None:
                    self._policy.ended(run.begun)
                return None
            origin = decision.origin if isinstance(decision, Decision) else None
            name = self._algorithms[choice.algorithm]
            run = run._replace(algorithm=name, x=choice.x, budget=choice.budget, stage=run.stage + 1)
            following = self._pending.continued[number] = self._pending.enter(run)
            return self._decided(following, choice, run, None if origin is None else origin.features, offered)

    def _next(self, run: PendingRun) -> tuple[Choice | None, Offered]:
        """Ask the policy how to continue with an open instance; also return what it was offered."""
        numbers = run.still_offered(self._algorithms)
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
        with self._one_at_a_time:
            recorded = RecordedRuns.read(scenario, known)
            rows, runs = recorded.matched(self._algorithms, self._cutoff)
            longest = None if self._budget is None else self._budget.longest(self._cutoff)
            measure = self._measure_after("time" if runs.losses is None else "loss")
            reader = self._reader.copy()
            features = recorded.features_for(reader, rows, needed=self.needs_features, longest=longest)
            self._measure, self._reader = measure, reader  # from here on nothing is refused
            policy = self._ready()
            # All features come first: they need no outcome, and so a running standardisation is right from
            # the first lesson on.
            instances = policy.fit_transform(features)
            order = stream(self._seed, "warm start").permutation(len(rows))
            policy.learn_recorded(instances[order], runs.at(order), self._progress(self._cutoff, 0.0))
            return int(runs.known.sum())

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision of this selector was made, according to its current belief.

        Like `decision.explain()`, but also for decisions that were pickled, or made before this selector was
        saved and loaded. `top` features are shown. Changes nothing.
        """
        if not isinstance(decision, Decision):
            raise InputError(
                f"expected the Decision itself, got {decision!r}: its number alone is not enough",
                field="decision",
            )
        policy = self._policy_so_far()
        self._pending.check_own(decision)
        if decision.origin is None:
            raise NotExplainedError(f"decision {decision.id} does not know what it was made with")
        since = self._pending.learned - decision.origin.learned
        return explain(self, policy, decision, outcomes_since=since, top=top)

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
        policy = self._policy_so_far()
        decision = self._considered(Request(features, cutoff=cutoff, among=among))
        assert decision is not None, "on a new instance everyone may run"
        return explain(self, policy, decision, outcomes_since=0, top=top)

    def decide_frozen(self, request: Request) -> Decision | None:
        """Return the run that would be chosen without randomness; None if there is none.

        For evaluation: decides, draws and learns nothing. For a schedule that is to continue,
        `request.failed` is how long each algorithm has already run unsuccessfully; `request.spent` includes
        that time.
        """
        decision = self._considered(request)
        return None if decision is None else replace(decision, origin=None)

    def _considered(self, request: Request) -> Decision | None:
        """Return what would be chosen without randomness; None if there is no run."""
        with self._one_at_a_time:
            self._check_features(request)
            if request.among is not None:
                self._offered(request.among)  # raises if it names unknown algorithms
            names, limit = self._algorithms, request.limit(self._cutoff)
            among = None if request.among is None else tuple(request.among)
            failed = dict(request.failed or {}) if self._schedules else None
            used = request.spent + request.feature_cost
            run = PendingRun("", request.instance, limit, NO_FEATURES, 0.0, used, among=among, failed=failed)
            numbers = run.still_offered(names)
            if numbers == [] or not run.time_is_left:
                return None
            raw = self._raw(request.features, tried=request.feature_cost > 0.0)
            policy, progress = self._policy_so_far(), run.progress(names)
            x = policy.transform(raw)
            offered = None if numbers is None else np.array(numbers)
            choice = policy.consider(x, offered, progress)
            if choice is None:
                if request.failed:
                    return None
                raise NotExplainedError(
                    f"{self.name} cannot say what it would do: ask for its decisions instead"
                )
            run = run._replace(algorithm=names[choice.algorithm], budget=choice.budget, x=x)
            return self._decided(_NOT_MADE, choice, run, raw, offered)

    def recall(self, decision: Decision, features: Features, learned: int) -> Decision:
        """Return a recorded decision, with what an explanation of it needs.

        `features` are those it was made with, and `learned` is the number of outcomes learned before it. If
        its outcome is known, the instance is represented as it would be today.
        """
        raw = self._raw(features) if decision.stage == 0 else None  # later runs do not repeat them
        run = self._pending.find(decision.id)
        if run is None and raw is None and self.needs_features:
            raise NotExplainedError(f"decision {decision.id} was observed, and its features are gone")
        if run is not None:
            x, failed = run.x, run.failed
        else:
            x = self._policy_so_far().transform(NO_FEATURES if raw is None else raw)
            failed = {} if self._schedules else None
        return replace(decision, origin=Origin(ref(self), raw, x, learned, failed, self.identity))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, atomically; `load` continues from it bit for bit.

        What was written is read again and verified before it replaces a file that is there.
        """
        with self._one_at_a_time:
            data = statefile.pack({**self._state(), "identity": self.identity})
        statefile.write(path, data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selector:
        """Return the selector saved in a file, or raise a `StateFileError` that names the problem."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except StateFileError as error:
            raise StateFileError(f"{os.fspath(path)}: {error}") from None

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes."""
        with self._one_at_a_time:
            return statefile.pack(self._state())

    def to_pieces(self, size: int) -> Iterator[bytes | memoryview]:
        """Return what `to_bytes` returns now, in pieces of little work each (`tailcut.state.pieces`)."""
        with self._one_at_a_time:
            return statefile.pieces(self._state(), size)

    def _state(self) -> dict[str, Any]:
        return {
            "kind": "selector",
            "selector": self.name,
            "settings": self._settings,
            "algorithms": list(self._algorithms),
            "cutoff": self._cutoff,
            "seed": self._seed,
            "feature_names": None if self._reader.names is None else list(self._reader.names),
            "n_features": self._reader.width,
            "feature_budget": None if self._budget is None else self._budget.state(),
            "max_pending": self._pending.limit,
            "pending": self._pending.state(),
            "policy": None if self._policy is None else self._policy.state(),
            "favourite": self._favourite.state(),
            "measure": self._measure,
        }

    @classmethod
    def from_bytes(cls, data: bytes) -> Selector:
        """Return the selector whose `to_bytes` returned `data`."""
        state = statefile.unpack(data)
        if not isinstance(state.get("kind"), str) or state["kind"] != "selector":
            raise StateFileError("this is a Tailcut state, but not that of a selector")
        try:
            return cls._from_state(state)
        except InputError as error:
            raise StateFileError(f"the saved selector cannot be made here: {error}") from error
        except KeyError as error:
            raise StateFileError(f"the state of the selector lacks {error}") from error
        except StateFileError:
            raise
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise StateFileError(f"the state of the selector does not fit together: {error}") from error

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
        width, names = state["n_features"], self._reader.names
        fine = (names is None and width is None) or (isinstance(width, int) and 0 <= width <= 10**7)
        expect(fine and (names is None or width == len(names)), "n_features: does not fit the feature names")
        self._reader.width = width
        if self._budget is not None:
            self._budget.restore(state["feature_budget"])
        if state["policy"] is not None:
            self._policy = self._build(width or 0)
            self._policy.restore(state["policy"])
        self._pending.restore(state["pending"])
        if "favourite" in state:  # earlier files have none
            self._favourite.restore(state["favourite"])
        if "alone" not in state["pending"]["waiting"]:  # as version 0.2 wrote it
            for runs in (self._pending.runs, self._pending.open):
                runs.update({number: self._favourite.recognised(run) for number, run in runs.items()})
            if self._policy is not None and not (self._pending.runs or self._pending.open):
                self._policy.ended(-1)
        self._measure = state.get("measure", "")
        expect(self._measure in ("", "time", "loss"), "measure: expected time or loss")
        self._pending.check_fits(self._policy)
        self.identity = state.get("identity", 0)
        expect(type(self.identity) is int, "identity: expected a whole number")
        return self

    def _measure_after(self, given: str) -> str:
        """Return what outcomes measure after one that measures `given`; raise if it cannot be learned."""
        if given == self._measure == "time":  # as almost always
            return given
        if given == "loss" and not self.takes_losses:
            able = ", ".join(row.name for row in find_all() if row.takes_losses)
            raise InputError(
                f"{self.name} learns runtimes, not losses; these learn losses: {able}", field="loss"
            )
        if given and self._measure and given != self._measure:
            plural = {"time": "times", "loss": "losses"}
            raise InputError(
                f"{self.name} has learned {plural[self._measure]} so far and cannot learn {plural[given]} as "
                "well: use one selector for each",
                field="loss",
            )
        return self._measure or given

    def _build(self, n_features: int) -> Policy:
        return self._recipe.build(
            self._settings,
            n_algorithms=len(self._algorithms),
            n_features=n_features,
            cutoff=self._cutoff,
            seed=self._seed,
            feature_budget=self._budget,
        )

    def _ready(self) -> Policy:
        """Return the policy, for the current number of features."""
        width = self._reader.width or 0
        if self._policy is None:
            self._policy = self._build(width)
        elif width > self._policy.n_features:
            self._policy.add_features(width)
        return self._policy

    def _check_features(self, request: Request) -> None:
        if request.features is None and self.needs_features and self._budget is None:
            raise InputError(f"{self.name} chooses by features: pass them to select()", field="features")

    def _offered(self, among: Iterable[str]) -> NDArray[np.intp]:
        """Return the numbers of these algorithms, in increasing order; raise if one is unknown."""
        wanted = set(among)
        unknown = wanted.difference(self._algorithms)
        if unknown or not wanted:
            problem = f"names unknown algorithms: {', '.join(sorted(unknown))}" if unknown else "is empty"
            raise InputError(f"among {problem}; known: {', '.join(self._algorithms)}", field="among")
        return np.array([i for i, name in enumerate(self._algorithms) if name in wanted])

    def _names(self, offered: Offered) -> tuple[str, ...]:
        return self._algorithms if offered is None else tuple(self._algorithms[a] for a in offered)

    def _progress(self, limit: float, used: float, begun: int = -1) -> Progress:
        return Progress(limit, used, np.zeros(len(self._algorithms)) if self._schedules else None, begun)

    def _raw(self, features: Features, *, tried: bool = False) -> Array:
        """Return the features that a policy gets, without fixing or counting anything.

        `tried` says that computing them was attempted, though it may have failed. The first features of all
        mean nothing to a policy that has decided without any.
        """
        if features is None and self._budget is not None and not tried:
            return NO_FEATURES
        raw = self._reader.copy().read(features)
        first = self._policy is not None and len(raw) > self._policy.n_features
        return NO_FEATURES if first else raw

    def _policy_so_far(self) -> Policy:
        if self._policy is None:
            raise NotExplainedError(f"{self.name} has not decided anything yet: there is nothing to explain")
        return self._policy


class OneAtATime:
    """Lets one thread in at a time; any other gets an error.

    >>> one_at_a_time = OneAtATime()
    >>> with one_at_a_time, one_at_a_time:
    ...     pass
    Traceback (most recent call last):
        ...
    tailcut.errors.ConcurrentUseError: another thread is using this selector: use it from one at a time
    """

    def __init__(self) -> None:
        self._free = [True]

    def __enter__(self) -> None:
        try:
            self._free.pop()  # at once, unlike a look and a change
        except IndexError:
            message = "another thread is using this selector: use it from one at a time"
            raise ConcurrentUseError(message) from None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._free.append(True)
