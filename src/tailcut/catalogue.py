"""One table: the name of a selector, its parts and its hyperparameters.

A row says which class fills each slot of a policy. Hyperparameters reach the parts by name: every part
gets those that its constructor has a parameter for, so `sigma` of a Buckley-James row sets both the
posterior that is sampled and the one that imputes. A new selector is one more row (CONTRIBUTING.md): a
`Recipe` if it picks one algorithm per instance, a `ScheduleRecipe` if it may go on to another.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from tailcut.censoring import AtCutoff, BuckleyJames, CensoringRule, Drop, Lost
from tailcut.errors import InputError
from tailcut.exploration import Bounds, Exploration, Greedy, Thompson, Uniform
from tailcut.hindsight import FIXED, LINES
from tailcut.losses import ExpectedPar, Loss, Predicted
from tailcut.models import Forests, LeastSquares, Model, Nothing, RidgeBank, RunningMeans
from tailcut.policy import Chooser, Parts, Policy
from tailcut.representation import PIPELINES, pipeline
from tailcut.schedules import RoundRobin
from tailcut.targets import BoundedLoss, LogSeconds, Seconds, Target

Hyperparameter = float | int | str


@dataclass(frozen=True, kw_only=True)
class Row:
    """A selector as data; what all kinds have in common."""

    name: str
    summary: str
    representation: str = "paper"
    hyperparameters: Mapping[str, Hyperparameter] = field(default_factory=dict)
    schedules: ClassVar[bool] = False
    """Whether it may stop an algorithm early and start another on the same instance."""

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        raise NotImplementedError

    @property
    def needs_features(self) -> bool:
        """Whether the selector looks at features at all."""
        return self.representation != "none"

    def _defaults(self) -> dict[str, Hyperparameter]:
        chosen = {"representation": self.representation} if self.needs_features else {}
        return {**self.hyperparameters, **chosen}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Hyperparameter]:
        """Return the defaults overlaid by `given`, or say which of those is wrong.

        >>> recipe("thompson").settings({"sigma": 2})
        {'ridge': 0.5, 'sigma': 2.0, 'representation': 'paper'}
        """
        known = self._defaults()
        for name, value in given.items():
            if name not in known:
                raise InputError(f"{self.name} has no hyperparameter {name!r}; it has: {', '.join(known)}")
            known[name] = _checked(self.name, name, value, known[name])
        return known

    def build(
        self, settings: Mapping[str, Hyperparameter], *, n_algorithms: int, n_features: int, seed: int
    ) -> Chooser:
        """Return a fresh policy with these settings, as returned by `settings`."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Return the row as plain values, for printing."""
        return {
            "name": self.name,
            "summary": self.summary,
            "kind": "schedule" if self.schedules else "online" if self.bounded else "batch",
            "parts": self._parts(),
            "hyperparameters": self._defaults(),
        }

    def _parts(self) -> dict[str, Any]:
        """Return what fills which slot, by name."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Recipe(Row):
    """A selector that picks once per instance: which part fills which slot of a `Policy`."""

    model: Callable[..., Model]
    censoring: Callable[..., CensoringRule]
    exploration: Callable[..., Exploration]
    loss: Callable[..., Loss] = Predicted
    target: Callable[..., Target] = LogSeconds
    first_runs: bool = True

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        return bool(_callee(self.model).bounded)

    def build(
        self, settings: Mapping[str, Hyperparameter], *, n_algorithms: int, n_features: int, seed: int
    ) -> Policy:
        """Return a fresh policy with these settings, as returned by `settings`."""
        representation = pipeline(str(settings.get("representation", "none")), n_features)
        sizes = {"n_algorithms": n_algorithms, "n_features": representation.width, "seed": seed}
        parts = Parts(
            representation=representation,
            model=_make(self.model, {**settings, **sizes}),
            censoring=_make(self.censoring, settings),
            exploration=_make(self.exploration, settings),
            loss=_make(self.loss, settings),
            target=_make(self.target, settings),
            first_runs=self.first_runs,
            epsilon=float(settings.get("epsilon", 0.0)),
        )
        return Policy(parts, n_algorithms=n_algorithms, seed=seed)

    def _parts(self) -> dict[str, Any]:
        return {
            "representation": self.representation,
            "model": _label(self.model),
            "target": _label(self.target),
            "censoring": _label(self.censoring),
            "exploration": _label(self.exploration),
            "loss": _label(self.loss),
            "first_runs": self.first_runs,
        }


@dataclass(frozen=True, kw_only=True)
class ScheduleRecipe(Row):
    """A selector that may run several algorithms on an instance, one after the other.

    `policy` makes a `tailcut.policy.Chooser` and has a class attribute `bounded`. It gets, by name, those
    of these that its constructor has a parameter for: `n_algorithms`, `n_features` (after the
    representation), `seed`, `representation` (a `Pipeline`) and the hyperparameters.
    """

    policy: Callable[..., Chooser]
    representation: str = "none"
    schedules: ClassVar[bool] = True

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        return bool(_callee(self.policy).bounded)

    def build(
        self, settings: Mapping[str, Hyperparameter], *, n_algorithms: int, n_features: int, seed: int
    ) -> Chooser:
        """Return a fresh policy with these settings, as returned by `settings`."""
        representation = pipeline(str(settings.get("representation", "none")), n_features)
        sizes = {"n_algorithms": n_algorithms, "n_features": representation.width, "seed": seed}
        made: Chooser = _make(self.policy, {**settings, **sizes, "representation": representation})
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


_AT_LEAST_ZERO = {"epsilon", "alpha", "rand_sigma", "penalty"}


def _checked(selector: str, name: str, value: Any, default: Hyperparameter) -> Hyperparameter:
    """Return a hyperparameter in the type of its default, or say what was expected."""
    if isinstance(default, str):
        if value in PIPELINES:
            return str(value)
        raise InputError(f"{selector}: {name} must be one of {', '.join(PIPELINES)}, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{selector}: {name} must be a number, got {value!r}")
    if isinstance(default, int):
        if value != int(value) or value < 1:
            raise InputError(f"{selector}: {name} must be a whole number >= 1, got {value!r}")
        return int(value)
    bound = ">= 0" if name in _AT_LEAST_ZERO else "> 0"
    if not (0.0 <= value < math.inf) or (value == 0.0 and bound == "> 0"):
        raise InputError(f"{selector}: {name} must be a finite number {bound}, got {value!r}")
    if name == "epsilon" and value > 1.0:
        raise InputError(f"{selector}: epsilon is a probability, got {value!r}")
    return float(value)


_THOMPSON = Recipe(
    name="thompson",
    summary="Thompson sampling on log-runtimes, timeouts learned as the cutoff",
    model=RidgeBank,
    censoring=AtCutoff,
    exploration=Thompson,
    hyperparameters={"ridge": 0.5, "sigma": 1.0},
)
_BLINDUCB = Recipe(
    name="blinducb",
    summary="LinUCB on log-runtimes, timeouts ignored",
    model=RidgeBank,
    censoring=Drop,
    exploration=Bounds,
    hyperparameters={"ridge": 1.0, "alpha": 1.0},
)
_BCLINUCB = replace(
    _BLINDUCB,
    name="bclinucb",
    summary="LinUCB on log-runtimes, timeouts learned as the cutoff, bounds corrected for that bias",
    censoring=AtCutoff,
    exploration=partial(Bounds, bias_corrected=True),
)


def _revisited(row: Recipe, **more: Hyperparameter) -> Recipe:
    """Return the row that minimises expected PARk instead of the log-runtime."""
    return replace(
        row,
        name=f"{row.name}_rev",
        summary=f"{row.summary}; minimises expected PARk",
        loss=ExpectedPar,
        hyperparameters={**row.hyperparameters, **more, "penalty": 10.0},
    )


def _buckley_james(row: Recipe) -> Recipe:
    """Return the row that learns timeouts from its own belief."""
    return replace(
        row,
        name=f"bj_{row.name}",
        summary=row.summary.replace("as the cutoff", "by Buckley-James imputation"),
        censoring=BuckleyJames,
    )


def _randomised(row: Recipe) -> Recipe:
    """Return the row whose confidence widths are multiplied by a half-normal draw."""
    return replace(
        row,
        name=f"rand_{row.name}",
        summary=f"Randomised {row.summary}",
        hyperparameters={**row.hyperparameters, "rand_sigma": 0.5},
    )


_DEGROOTE = Recipe(
    name="degroote_epsilon_greedy_lr",
    summary="Epsilon-greedy on linear regressions refitted at every step (Degroote et al.)",
    model=LeastSquares,
    censoring=AtCutoff,
    exploration=Greedy,
    target=Seconds,
    hyperparameters={"epsilon": 0.05},
)

_ROWS: list[Row] = [
    _THOMPSON,
    _revisited(_THOMPSON),
    _buckley_james(_THOMPSON),
    _buckley_james(_revisited(_THOMPSON)),
    _BLINDUCB,
    _revisited(_BLINDUCB, sigma=10.0),
    _BCLINUCB,
    _revisited(_BCLINUCB, sigma=10.0),
    _randomised(_BLINDUCB),
    _randomised(_revisited(_BLINDUCB, sigma=10.0)),
    _randomised(_BCLINUCB),
    _randomised(_revisited(_BCLINUCB, sigma=10.0)),
    _DEGROOTE,
    replace(
        _DEGROOTE,
        name="degroote_epsilon_greedy_rf",
        summary="Epsilon-greedy on random forests refitted at every step (Degroote et al.)",
        model=Forests,
        hyperparameters={"epsilon": 0.05, "trees": 100},
    ),
    replace(
        _DEGROOTE,
        name="degroote_ucb_rf",
        summary="Lower bounds by the jackknife of random forests refitted at every step (Degroote et al.)",
        model=Forests,
        exploration=Bounds,
        hyperparameters={"alpha": 1.0, "trees": 100},
    ),
    Recipe(
        name="bounded_thompson",
        summary="Our own: Thompson sampling that hardly explores, on a bounded loss that is mostly timeouts",
        representation="standardised",
        model=RidgeBank,
        censoring=Lost,
        exploration=Thompson,
        target=BoundedLoss,
        hyperparameters={"ridge": 30.0, "sigma": 0.01, "solved_share": 0.3},
    ),
    Recipe(
        name="epsilon_greedy",
        summary="Epsilon-greedy on mean runtimes, features unseen; timeouts count timeout_factor x cutoff",
        representation="none",
        model=RunningMeans,
        censoring=AtCutoff,
        exploration=Greedy,
        target=Seconds,
        hyperparameters={"epsilon": 0.05, "timeout_factor": 10.0},
    ),
    Recipe(
        name="random",
        summary="A uniformly random algorithm each time",
        representation="none",
        model=Nothing,
        censoring=Drop,
        exploration=Uniform,
        first_runs=False,
    ),
    ScheduleRecipe(
        name="round_robin",
        summary="Every algorithm in turn, each for an equal share of the time",
        policy=RoundRobin,
    ),
]

CATALOGUE: dict[str, Row] = {row.name: row for row in _ROWS}
"""Every selector by its name."""


def recipe(name: str) -> Row:
    """Return the row called `name`, or say which names there are.

    >>> recipe("bj_thompson_rev").describe()["parts"]["censoring"]
    'BuckleyJames'
    """
    if isinstance(name, str) and name in CATALOGUE:
        return CATALOGUE[name]
    if name in LINES:
        raise InputError(
            f"{name!r} knows all runtimes in hindsight, so it cannot select; see tailcut.hindsight"
        )
    raise InputError(f"unknown selector {name!r}; known: {', '.join(CATALOGUE)}")


def register(row: Row) -> None:
    """Add a selector of your own under its name, so that it can be made, saved and loaded by name."""
    if row.name in CATALOGUE or row.name in LINES:
        raise InputError(f"there is a selector {row.name!r} already")
    CATALOGUE[row.name] = row


def is_schedule(label: str) -> bool:
    """Return whether a selector or hindsight line may run several algorithms on an instance.

    `label` is a name, or one with hyperparameters behind a colon.
    """
    name = label.partition(":")[0]
    return name in FIXED or (name in CATALOGUE and CATALOGUE[name].schedules)


def kind_of(label: str) -> str:
    """Return 'one pick', 'schedule' or 'hindsight': who may be compared with whom.

    >>> kind_of("thompson:sigma=2.0"), kind_of("round_robin"), kind_of("sbs_pair")
    ('one pick', 'schedule', 'hindsight')
    """
    if label.partition(":")[0] in LINES:
        return "hindsight"
    return "schedule" if is_schedule(label) else "one pick"


def labelled(label: str) -> str:
    """Return a label for people, that tells a schedule from what picks once.

    >>> labelled("round_robin"), labelled("sbs")
    ('round_robin (schedule)', 'sbs')
    """
    return f"{label} (schedule)" if is_schedule(label) else label
