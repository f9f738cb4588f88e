"""What a selector is made of: its settings, its parts and what it has learned; the base of `Selector`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tailcut.checks.inputs import check_names, check_seconds, check_whole_number
from tailcut.errors import InputError, NotExplainedError
from tailcut.explain.reasons import SelectorView
from tailcut.numerics.vectors import NO_FEATURES
from tailcut.policies.measured import OutcomeMeasure
from tailcut.policies.pending import PendingDecisions
from tailcut.policies.policy import Policy
from tailcut.policies.recipes import Row
from tailcut.representation.reader import FeatureReader
from tailcut.state.saved import Saved
from tailcut.state.stateful import expect
from tailcut.types import Array, Decision, Features, Origin, Progress, Request


class SelectorBase(Saved):
    """Knows its algorithms and how to be saved, and prepares what `Selector` decides and learns with."""

    def __init__(
        self,
        row: Row,
        algorithms: Iterable[str],
        cutoff: float,
        *,
        seed: int,
        feature_names: Iterable[str] | None,
        max_pending: int,
        hyperparameters: Mapping[str, Any],
    ) -> None:
        self._recipe = row.if_installed()
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
        self._measure = OutcomeMeasure.UNSETTLED
        self._policy: Policy | None = None  # made by the first select(): only then d is known

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
            self._policy.widen(width)
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
        return self._measure is OutcomeMeasure.LOSS

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
        (name,) = check_names("algorithm", [name])
        if name in self._algorithms:
            raise InputError(f"there is an algorithm {name!r} already", field="algorithm")
        self._algorithms = (*self._algorithms, name)
        if self._policy is not None:
            self._policy.add()

    def remove_algorithm(self, name: str) -> None:
        """Remove an algorithm and forget what was learned about it."""
        if name not in self._algorithms:
            known = ", ".join(self._algorithms)
            raise InputError(f"there is no algorithm {name!r}; known: {known}", field="algorithm")
        if len(self._algorithms) == 1:
            raise InputError(
                f"{name!r} is the only algorithm left; a selector needs at least one", field="algorithm"
            )
        if self._policy is not None:
            self._policy.remove(self._algorithms.index(name))
        self._algorithms = tuple(other for other in self._algorithms if other != name)

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

    def _admitted(self, offered: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
        """Return which of the offered algorithms may run: on some instances, only the favourite."""
        names = self._algorithms if offered is None else tuple(self._algorithms[a] for a in offered)
        if not self._favourite.goes_alone(names):
            return offered
        return np.array([self._algorithms.index(self._favourite.favourite)])

    def _progress(self, limit: float, used: float) -> Progress:
        """Return the progress on an instance on which nothing has run."""
        return Progress(limit, used, np.zeros(len(self._algorithms)) if self._schedules else None)

    def _raw(self, features: Features) -> Array:
        """Return the features that a policy gets, without fixing or counting anything."""
        if features is None and self._budget is not None:
            return NO_FEATURES
        return self._reader.copy().read(features)

    def _view(self, top: int) -> SelectorView:
        if self._policy is None:
            raise NotExplainedError(f"{self.name} has not decided anything yet: there is nothing to explain")
        top = check_whole_number("top", top, at_least=0)
        names = self._reader.names
        return SelectorView(self._policy, self.name, self._algorithms, names, top, rated=self.rated)

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
            return replace(decision, origin=Origin(ref(self), raw, run.x, learned, run.failed))
        x = self._view(0).policy.peek(NO_FEATURES if raw is None else raw)
        return replace(decision, origin=Origin(ref(self), raw, x, learned, {} if self._schedules else None))

    def _state(self) -> dict[str, Any]:
        return {
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
            "measure": self._measure.value,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Continue where `_state` was taken, by a selector made with the same settings."""
        width, names = state["n_features"], self._reader.names
        fine = (
            width is None
            if names is None and width is None
            else isinstance(width, int) and 0 <= width <= 10**7
        )
        expect(fine and (names is None or width == len(names)), "n_features: does not fit the feature names")
        self._reader.width = width
        if self._budget is not None:
            self._budget.restore(state["feature_budget"])
        if state["policy"] is not None:
            self._policy = self._build(state["n_features"] or 0)
            self._policy.restore(state["policy"])
        self._pending.restore(state["pending"])
        if "favourite" in state:  # earlier files have none
            self._favourite.restore(state["favourite"])
        self._measure = OutcomeMeasure(state.get("measure", ""))
        self._pending.check_fits(self._policy)
