"""A row of the catalogue: a selector as data, and how a policy is built from it.

Hyperparameters reach the parts by name: every part gets those that its constructor has a parameter for, so
`sigma` of a Buckley-James row sets both the posterior that is sampled and the one that imputes.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tailcut.errors import InputError
from tailcut.explain.forecast import Forecast
from tailcut.models import Model, Nothing
from tailcut.policies.censoring import CensoringRule
from tailcut.policies.exploration import Exploration
from tailcut.policies.feature_budget import Thrift
from tailcut.policies.first_runs import FirstRuns
from tailcut.policies.losses import Loss, Predicted
from tailcut.policies.one_pick import Chooser, Parts, Policy
from tailcut.policies.sliding_window import WindowedPolicy
from tailcut.policies.targets import LogSeconds, Target
from tailcut.representation import PIPELINES, pipeline

Hyperparameter = float | int | str


@dataclass(frozen=True, kw_only=True)
class Row(ABC):
    """A selector as data; what all kinds have in common."""

    name: str
    summary: str
    representation: str = "paper"
    hyperparameters: Mapping[str, Hyperparameter] = field(default_factory=dict)
    schedules: ClassVar[bool] = False
    """Whether it may stop an algorithm early and start another on the same instance."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""

    @property
    @abstractmethod
    def predicts_runtimes(self) -> bool:
        """Whether explanations of its decisions hold predicted runtimes."""

    @property
    def needs_features(self) -> bool:
        """Whether the selector looks at features at all."""
        return self.representation != "none"

    @property
    def spares_features(self) -> bool:
        """Whether it can do without features that cost more than they bring: it has a `feature_share`."""
        return "feature_share" in self.hyperparameters

    def thrift(self, settings: Mapping[str, Hyperparameter]) -> Thrift | None:
        """Return a fresh estimate of what features cost and bring, for those that can do without."""
        if not (self.spares_features and settings["representation"] != "none"):
            return None
        penalty = float(settings.get("penalty", 10.0))
        return Thrift(share=float(settings["feature_share"]), penalty=penalty)

    def _defaults(self) -> dict[str, Hyperparameter]:
        chosen = {"representation": self.representation} if self.needs_features else {}
        return {**self.hyperparameters, **chosen}

    @property
    def options(self) -> dict[str, Hyperparameter]:
        """Further hyperparameters that are in the settings only where given, with what leaving out means."""
        return {}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Hyperparameter]:
        """Return the defaults overlaid by `given`, or say which of those is wrong.

        >>> from tailcut.catalogue import recipe
        >>> recipe("thompson").settings({"sigma": 2})
        {'ridge': 0.5, 'sigma': 2.0, 'representation': 'paper'}
        """
        known = self._defaults()
        offered = {**known, **self.options}
        for name, value in given.items():
            if name not in offered:
                raise InputError(f"{self.name} has no hyperparameter {name!r}; it has: {', '.join(offered)}")
            known[name] = _checked(self.name, name, value, offered[name])
        return known

    @abstractmethod
    def build(
        self,
        settings: Mapping[str, Hyperparameter],
        *,
        n_algorithms: int,
        n_features: int,
        seed: int,
        thrift: Thrift | None = None,
    ) -> Chooser:
        """Return a fresh policy with these settings, as returned by `settings`.

        With `thrift` it takes instances without features, and tells what features bring.
        """

    def describe(self) -> dict[str, Any]:
        """Return the row as plain values, for printing."""
        return {
            "name": self.name,
            "summary": self.summary,
            "kind": "schedule" if self.schedules else "online" if self.bounded else "batch",
            "parts": self._parts(),
            "hyperparameters": self._defaults(),
        }

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return what fills which slot, by name."""


@dataclass(frozen=True, kw_only=True)
class Recipe(Row):
    """A selector that picks once per instance: which part fills which slot of a `Policy`."""

    model: Callable[..., Model]
    censoring: Callable[..., CensoringRule]
    exploration: Callable[..., Exploration]
    loss: Callable[..., Loss] = Predicted
    target: Callable[..., Target] = LogSeconds
    first_runs: Callable[..., FirstRuns] = FirstRuns
    forecast: bool = False
    """Whether a model on the side learns runtimes, so that decisions can be explained by them."""

    @property
    def predicts_runtimes(self) -> bool:
        """Whether explanations of its decisions hold predicted runtimes."""
        return self.forecast or (_callee(self.target) is LogSeconds and _callee(self.model) is not Nothing)

    @property
    def options(self) -> dict[str, Hyperparameter]:
        """The number of latest runs to go by, 0 for all, if the model's constructor has a `window`."""
        return {"window": 0} if "window" in inspect.signature(self.model).parameters else {}

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        return bool(_callee(self.model).bounded)

    def build(
        self,
        settings: Mapping[str, Hyperparameter],
        *,
        n_algorithms: int,
        n_features: int,
        seed: int,
        thrift: Thrift | None = None,
    ) -> Policy:
        """Return a fresh policy with these settings, as returned by `settings`."""
        representation = pipeline(str(settings.get("representation", "none")), n_features)
        sizes = {"n_algorithms": n_algorithms, "n_features": representation.width, "seed": seed}
        views = {"views": representation.views()}
        parts = Parts(
            representation=representation,
            model=_make(self.model, {**settings, **sizes, **views}),
            censoring=_make(self.censoring, settings),
            exploration=_make(self.exploration, settings),
            loss=_make(self.loss, settings),
            target=_make(self.target, settings),
            first_runs=_make(self.first_runs, settings),
            epsilon=float(settings.get("epsilon", 0.0)),
            forecast=(
                Forecast(n_algorithms=n_algorithms, n_features=representation.forecast_width)
                if self.forecast
                else None
            ),
            thrift=thrift,
        )
        window = int(settings.get("window", 0))
        if window:
            return WindowedPolicy(parts, n_algorithms=n_algorithms, seed=seed, window=window)
        return Policy(parts, n_algorithms=n_algorithms, seed=seed)

    def _parts(self) -> dict[str, Any]:
        return {
            "representation": self.representation,
            "model": _label(self.model),
            "target": _label(self.target),
            "censoring": _label(self.censoring),
            "exploration": _label(self.exploration),
            "loss": _label(self.loss),
            "first_runs": _label(self.first_runs),
        }


@dataclass(frozen=True, kw_only=True)
class ScheduleRecipe(Row):
    """A selector that may run several algorithms on an instance, one after the other.

    `policy` makes a `Chooser` and has a class attribute `bounded`. It gets, by name, those
    of these that its constructor has a parameter for: `n_algorithms`, `n_features` (after the
    representation), `seed`, `representation` (a `Pipeline`), `thrift` and the hyperparameters.
    """

    policy: Callable[..., Chooser]
    representation: str = "none"
    schedules: ClassVar[bool] = True

    @property
    def predicts_runtimes(self) -> bool:
        """Whether its policy has the verb `forecasts` (`tailcut.explain.explainer.Forecasting`)."""
        return hasattr(_callee(self.policy), "forecasts")

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        return bool(_callee(self.policy).bounded)

    def build(
        self,
        settings: Mapping[str, Hyperparameter],
        *,
        n_algorithms: int,
        n_features: int,
        seed: int,
        thrift: Thrift | None = None,
    ) -> Chooser:
        """Return a fresh policy with these settings, as returned by `settings`."""
        representation = pipeline(str(settings.get("representation", "none")), n_features)
        sizes = {"n_algorithms": n_algorithms, "n_features": representation.width, "seed": seed}
        own = {"representation": representation, "thrift": thrift}
        made: Chooser = _make(self.policy, {**settings, **sizes, **own})
        return made

    def _parts(self) -> dict[str, Any]:
        return {"representation": self.representation, "policy": _label(self.policy)}


def _callee(part: Callable[..., Any]) -> Any:
    return part.func if isinstance(part, partial) else part


def _label(part: Callable[..., Any]) -> str:
    name = str(_callee(part).__name__)
    if not isinstance(part, partial):
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in part.keywords.items())})"


def _make(part: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Call `part` with those settings that it has parameters for."""
    wanted = inspect.signature(part).parameters
    return part(**{name: value for name, value in settings.items() if name in wanted})


_AT_LEAST_ZERO = {"epsilon", "alpha", "rand_sigma", "penalty", "window", "again"}


def _checked(selector: str, name: str, value: Any, default: Hyperparameter) -> Hyperparameter:
    """Return a hyperparameter in the type of its default, or say what was expected."""
    if isinstance(default, str):
        if value in PIPELINES:
            return str(value)
        raise InputError(f"{selector}: {name} must be one of {', '.join(PIPELINES)}, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{selector}: {name} must be a number, got {value!r}")
    if isinstance(default, int):
        least = 0 if name in _AT_LEAST_ZERO else 1
        if not math.isfinite(value) or value != int(value) or value < least:
            raise InputError(f"{selector}: {name} must be a whole number >= {least}, got {value!r}")
        return int(value)
    bound = ">= 0" if name in _AT_LEAST_ZERO else "> 0"
    if not (0.0 <= value < math.inf) or (value == 0.0 and bound == "> 0"):
        raise InputError(f"{selector}: {name} must be a finite number {bound}, got {value!r}")
    if name == "epsilon" and value > 1.0:
        raise InputError(f"{selector}: epsilon is a probability, got {value!r}")
    if name == "feature_share" and value >= 1.0:
        raise InputError(f"{selector}: feature_share must be less than all of the cutoff, 1, got {value!r}")
    return float(value)
