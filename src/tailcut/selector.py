"""The selector: `select()` an algorithm for an instance, `observe()` how it went. Start reading here.

This module knows names, decisions and files. What to choose and what to learn is a policy
(`tailcut.policy`), put together from parts by the catalogue.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailcut import special, statefile
from tailcut.border import (
    FeatureReader,
    Features,
    cutoff_seconds,
    instance_name,
    names,
    one_outcome,
    whole_number,
)
from tailcut.catalogue import Recipe, recipe
from tailcut.errors import (
    ConflictingOutcomeError,
    InputError,
    StateFileError,
    UnknownDecisionError,
)
from tailcut.policy import Policy
from tailcut.types import Array, Decision, Outcome, Status


class _Pending(NamedTuple):
    """What is kept of a decision until its outcome is known."""

    algorithm: str
    instance: str | None
    cutoff: float
    x: Array


class Selector:
    """Picks one of several algorithms for each instance of a stream and learns from the outcomes.

    `selector` is a name of the catalogue (`tailcut selectors` lists them) or a `Recipe`; further
    keywords are its hyperparameters. `cutoff` is the time in seconds after which an instance counts as
    unsolved. At most `max_pending` decisions wait for their outcome; when there are more, the oldest is
    given up, so feedback that never arrives costs no memory.

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
        selector: str | Recipe,
        algorithms: Iterable[str],
        cutoff: float,
        *,
        seed: int = 0,
        feature_names: Iterable[str] | None = None,
        max_pending: int = 10_000,
        **hyperparameters: Any,
    ) -> None:
        self._recipe = selector if isinstance(selector, Recipe) else recipe(selector)
        self._settings = self._recipe.settings(hyperparameters)
        self._algorithms = names("algorithms", algorithms)
        if not self._algorithms:
            raise InputError("algorithms must name at least one algorithm")
        self._cutoff = cutoff_seconds(cutoff)
        self._seed = whole_number("seed", seed, at_least=0)
        self._max_pending = whole_number("max_pending", max_pending, at_least=1)
        self._features = FeatureReader(
            None if feature_names is None else names("feature_names", feature_names)
        )
        self._policy: Policy | None = None  # made by the first select(): only then d is known
        special.load()
        self._next_id = 0
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._observed: OrderedDict[int, Outcome] = OrderedDict()

    def _build(self, n_features: int) -> Policy:
        return self._recipe.build(
            self._settings, n_algorithms=len(self._algorithms), n_features=n_features, seed=self._seed
        )

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
    def needs_features(self) -> bool:
        """Whether the selector looks at features at all."""
        return self._recipe.needs_features

    @property
    def pending(self) -> tuple[int, ...]:
        """The ids of the decisions that wait for an outcome, oldest first."""
        return tuple(self._pending)

    def select(
        self,
        features: Features = None,
        *,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
    ) -> Decision:
        """Return which algorithm to run on the instance with these `features`.

        `features` is a vector, or a mapping from feature names to values; nan (or an absent name) is a
        missing value. The first call fixes their number, and their names and order if it is a mapping.
        Selectors that look at no features need none. `cutoff` and `among` (a subset of the algorithms)
        hold for this call only.
        """
        if features is None and self._recipe.needs_features:
            raise InputError(f"{self.name} chooses by features: pass them to select()")
        instance = instance_name(instance)
        limit = self._cutoff if cutoff is None else cutoff_seconds(cutoff)
        offered = None if among is None else self._offered(among)
        vector = self._features.read(features)
        if self._policy is None:
            self._policy = self._build(len(vector))
        algorithm, reason, scores, x = self._policy.choose(vector, offered, limit)
        values = scores.tolist()
        shown = range(len(values)) if offered is None else offered
        name = self._algorithms[algorithm]
        decision = Decision(
            self._next_id,
            instance,
            name,
            limit,
            limit,
            {self._algorithms[a]: values[a] for a in shown},
            reason,
        )
        self._pending[self._next_id] = _Pending(name, instance, limit, x)
        self._next_id += 1
        if len(self._pending) > self._max_pending:
            self._pending.popitem(last=False)
        return decision

    def _offered(self, among: Iterable[str]) -> NDArray[np.intp]:
        """Return the numbers of the algorithms named by `among`, in our own order."""
        wanted = set(names("among", among))
        unknown = wanted.difference(self._algorithms)
        if unknown or not wanted:
            problem = f"names unknown algorithms: {', '.join(sorted(unknown))}" if unknown else "is empty"
            raise InputError(f"among {problem}; known: {', '.join(self._algorithms)}")
        return np.array([i for i, name in enumerate(self._algorithms) if name in wanted])

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
        number = decision.id if isinstance(decision, Decision) else decision
        if not isinstance(number, int):
            raise UnknownDecisionError(f"there is no decision {number!r}: decisions are numbered")
        waiting = self._pending.get(number)
        if waiting is None:
            self._check_repeated(number, outcome)
            return False
        if isinstance(decision, Decision):
            _check_same(decision, waiting)
        del self._pending[number]
        self._observed[number] = outcome
        if len(self._observed) > self._max_pending:
            self._observed.popitem(last=False)
        if waiting.algorithm in self._algorithms:
            assert self._policy is not None
            algorithm = self._algorithms.index(waiting.algorithm)
            self._policy.learn(algorithm, waiting.x, outcome, waiting.cutoff)
        return True

    def _check_repeated(self, number: int, outcome: Outcome) -> None:
        """Raise unless this very outcome is already known for the decision."""
        if number in self._observed:
            known = self._observed[number]
            if known != outcome:
                raise ConflictingOutcomeError(
                    f"decision {number} was already observed as {_words(known)}; got {_words(outcome)}"
                )
        elif 0 <= number < self._next_id:
            raise UnknownDecisionError(
                f"decision {number} is no longer known: only the latest {self._max_pending} are kept"
            )
        else:
            raise UnknownDecisionError(f"there is no decision {number}")

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, atomically; `load` continues from it bit for bit."""
        statefile.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selector:
        """Return the selector saved in a file, or raise `StateFileError` naming what is wrong."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except StateFileError as error:
            raise StateFileError(f"{os.fspath(path)}: {error}") from None

    def to_bytes(self) -> bytes:
        """Return the selector's whole state as bytes."""
        return statefile.pack(
            {
                "kind": "selector",
                "selector": self.name,
                "settings": self._settings,
                "algorithms": list(self._algorithms),
                "cutoff": self._cutoff,
                "seed": self._seed,
                "feature_names": None if self._features.names is None else list(self._features.names),
                "n_features": self._features.width,
                "max_pending": self._max_pending,
                "next_id": self._next_id,
                "pending": _pack_pending(self._pending),
                "observed": [[n, o.status.value, o.time] for n, o in self._observed.items()],
                "policy": None if self._policy is None else self._policy.state(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Selector:
        """Return the selector whose `to_bytes` gave `data`."""
        state = statefile.unpack(data)
        if state.get("kind") != "selector":
            raise StateFileError("this is a Tailcut state, but not that of a selector")
        try:
            return cls._from_state(state)
        except InputError as error:
            raise StateFileError(f"the saved selector cannot be made here: {error}") from error
        except KeyError as error:
            raise StateFileError(f"the state of the selector lacks {error}") from error

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
        self._features.width = state["n_features"]
        if state["policy"] is not None:
            self._policy = self._build(state["n_features"])
            self._policy.restore(state["policy"])
        self._next_id = state["next_id"]
        self._pending = _unpack_pending(state["pending"])
        self._observed = OrderedDict((n, Outcome(Status(s), t)) for n, s, t in state["observed"])
        return self


def _check_same(decision: Decision, waiting: _Pending) -> None:
    if (decision.algorithm, decision.instance, decision.cutoff) != waiting[:3]:
        raise UnknownDecisionError(
            f"decision {decision.id} ({decision.algorithm} on {decision.instance}) is not this selector's: "
            f"its own number {decision.id} is {waiting.algorithm} on {waiting.instance}"
        )


def _words(outcome: Outcome) -> str:
    return outcome.status.value if outcome.time is None else f"{outcome.status.value} at {outcome.time:g} s"


def _pack_pending(pending: Mapping[int, _Pending]) -> dict[str, Any]:
    return {
        "rows": [[number, p.algorithm, p.instance, p.cutoff] for number, p in pending.items()],
        "x": np.array([p.x for p in pending.values()], dtype=np.float64),
    }


def _unpack_pending(state: Mapping[str, Any]) -> OrderedDict[int, _Pending]:
    return OrderedDict(
        (number, _Pending(algorithm, instance, cutoff, x))
        for (number, algorithm, instance, cutoff), x in zip(state["rows"], state["x"], strict=True)
    )
