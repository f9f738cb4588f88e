"""A row of the catalogue: a selector as data, and how a policy is built from it.

Hyperparameters reach the parts by name: every part gets those that its constructor has a parameter for. So
`noise_variance` of a Buckley-James row sets both the posterior that is sampled and the one that imputes. A
hyperparameter that no part has a parameter for is an error. Parts declare them in the constructor, with their
bounds beside the parameter; without a range it takes any finite number, or any text if its default is one:

    ridge: Annotated[float, Range(above=0.0)] = 1.0
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, ClassVar, Self, TypeVar, get_args, get_type_hints

from tailcut.errors import InputError, MissingExtraError
from tailcut.models import Model
from tailcut.numerics.ranges import Range
from tailcut.policies.censoring import CensoringRule
from tailcut.policies.exploration import Exploration, ForcedExploration
from tailcut.policies.favourite import MARGIN, Favourite
from tailcut.policies.feature_budget import FeatureBudget
from tailcut.policies.losses import LogSeconds, Loss, Predicted, Target
from tailcut.policies.one_pick import OnePick, Parts, WindowedPick
from tailcut.policies.policy import Policy
from tailcut.representation import PIPELINES, pipeline

Made = TypeVar("Made")
Value = float | int | str

MADE_FOR_THE_PART = frozenset(
    {"n_algorithms", "n_features", "seed", "cutoff", "views", "representation", "feature_budget", "parts"}
)
"""Constructor parameters that the recipe fills in; they are not hyperparameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A hyperparameter as a part declares it."""

    whole: bool
    range: Range


@lru_cache(maxsize=512)
def declared(part: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the hyperparameters of a part by name: its constructor's parameters that are not bound.

    >>> from tailcut.models.ridge import RidgeBank
    >>> str(declared(RidgeBank)["ridge"].range)
    '> 0 and <= 1e+12'
    """
    callee = _callee(part)
    bound = set(part.keywords) if isinstance(part, partial) else set()
    names = [name for name in inspect.signature(callee).parameters if name not in bound | MADE_FOR_THE_PART]
    hints = _hints(callee)
    return {name: _parameter(hints.get(name)) for name in names}


def _hints(made: Any) -> dict[str, Any]:
    """Return the annotations of a constructor, and of a class, whose fields a dataclass may inherit.

    If they use names that only type checkers know, there are none.
    """
    sources = (made, type.__getattribute__(made, "__init__")) if isinstance(made, type) else (made,)
    found: dict[str, Any] = {}
    for source in sources:
        with suppress(NameError):
            found |= get_type_hints(source, include_extras=True)
    return found


def _parameter(hint: Any) -> Parameter:
    for kind in (hint, *get_args(hint)):  # `X | None` holds its X among its arguments
        for note in getattr(kind, "__metadata__", ()):
            if isinstance(note, Range):
                return Parameter(kind.__origin__ is int, note)
    return Parameter(hint is int, Range())


@lru_cache(maxsize=512)
def _parameters(part: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a part's parameters; to ask for a signature takes longer than to make the part."""
    return frozenset(inspect.signature(part).parameters)


def made(part: Callable[..., Made], settings: Mapping[str, Any]) -> Made:
    """Return `part` called with the settings that it has parameters for."""
    wanted = _parameters(part)
    return part(**{name: value for name, value in settings.items() if name in wanted})


def checked(owner: str, name: str, value: Any, default: Value, parameter: Parameter) -> Value:
    """Return a hyperparameter in the type of its default; raise if it is invalid."""
    if isinstance(default, str):
        if isinstance(value, str):
            return value
        raise InputError(f"{owner}: {name} must be a text, got {value!r}", field="hyperparameters")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{owner}: {name} must be a number, got {value!r}", field="hyperparameters")
    whole = parameter.whole
    if not math.isfinite(value) or value not in parameter.range or (whole and value != int(value)):
        kind = "a whole number" if whole else "a finite number"
        expected = f"{kind} {parameter.range}".rstrip()
        raise InputError(f"{owner}: {name} must be {expected}, got {value!r}", field="hyperparameters")
    return int(value) if whole else float(value)


@dataclass(frozen=True, kw_only=True)
class Row(ABC):
    """A selector as data; what all kinds have in common."""

    name: str
    summary: str
    representation: str = "paper"
    hyperparameters: Mapping[str, Value] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    """Modules that must be installed beside the package itself."""
    extra: str = ""
    """The extra that installs them."""
    schedules: ClassVar[bool] = False
    """Whether it may stop an algorithm early and start another on the same instance."""
    learning_slot: ClassVar[str]
    """The slot of the part that learns: a model, or a whole policy."""

    def __post_init__(self) -> None:
        known = self._declared()
        unused = [name for name in self.hyperparameters if name not in known]
        if unused:
            raise InputError(
                f"{self.name}: no part has a hyperparameter {', '.join(map(repr, unused))}; "
                f"they have: {', '.join(known)}",
                field="hyperparameters",
            )

    @property
    def _learner(self) -> Any:
        return _callee(getattr(self, self.learning_slot))

    @property
    def bounded(self) -> bool:
        """Whether memory and time per step are independent of the horizon."""
        return bool(self._learner.bounded)

    @property
    def can_be_saved(self) -> bool:
        """Whether a selector can be saved to a file, and so be the project of a journal."""
        return bool(self._learner.can_be_saved)

    @property
    def takes_losses(self) -> bool:
        """Whether it can minimise a loss that is given per run, instead of time."""
        return False

    @property
    def missing(self) -> str:
        """What is not installed and how to install it; empty if nothing is missing.

        >>> from tailcut.catalogue import recipe
        >>> recipe("thompson").missing
        ''
        """
        absent = [name for name in self.libraries if find_spec(name) is None]
        return f"needs {', '.join(absent)}: pip install 'tailcut[{self.extra}]'" if absent else ""

    def if_installed(self) -> Self:
        """Return the row itself; raise if something is not installed."""
        if self.missing:
            raise MissingExtraError(f"{self.name} {self.missing}")
        return self

    @property
    @abstractmethod
    def predicts_runtimes(self) -> bool:
        """Whether explanations of its decisions contain predicted runtimes."""

    @property
    def works_without_features(self) -> bool:
        """Whether it can learn anything if it sees no features at all."""
        return not self._learner.needs_features

    def may_proceed(self, settings: Mapping[str, Value]) -> bool:  # noqa: ARG002
        """Whether another algorithm may follow on the same instance, with these settings."""
        return self.schedules

    @abstractmethod
    def _slots(self) -> dict[str, Callable[..., Any]]:
        """Return which part fills which slot."""

    @property
    def needs_features(self) -> bool:
        """Whether the selector looks at features with its default settings."""
        return self.representation != "none"

    def _declared(self) -> dict[str, Parameter]:
        parts = [*self._slots().values(), FeatureBudget, Favourite]
        return {name: parameter for part in parts for name, parameter in declared(part).items()}

    def feature_budget(self, settings: Mapping[str, Value]) -> FeatureBudget | None:
        """Return a new feature budget, for rows with a `feature_share`."""
        if "feature_share" not in settings or settings["representation"] == "none":
            return None
        return made(FeatureBudget, settings)

    def favourite(self, settings: Mapping[str, Value]) -> Favourite:
        """Return the guard of the settings' favourite; without one, it allows all."""
        return made(Favourite, settings)

    def _defaults(self) -> dict[str, Value]:
        chosen = {"representation": self.representation} if self.needs_features else {}
        return {**self.hyperparameters, **chosen}

    @property
    def options(self) -> dict[str, Value]:
        """Hyperparameters that are in the settings only if given, with their default meaning.

        If the learner has a `window`, it is how many of the latest runs or instances count, 0 for all.
        """
        window: dict[str, Value] = {"window": 0} if "window" in declared(self._learner) else {}
        return {**window, "favourite": "", "favourite_margin": MARGIN}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return the defaults overlaid by `given`; raise if one of those is invalid.

        >>> from tailcut.catalogue import recipe
        >>> recipe("thompson").settings({"noise_variance": 2})
        {'ridge': 0.5, 'noise_variance': 2.0, 'representation': 'paper'}
        """
        known = self._defaults()
        offered = {**known, **self.options}
        parameters = self._declared()
        for name, value in given.items():
            if name not in offered:
                raise InputError(
                    f"{self.name} has no hyperparameter {name!r}; it has: {', '.join(offered)}",
                    field="hyperparameters",
                )
            if name != "representation":
                known[name] = checked(self.name, name, value, offered[name], parameters[name])
                continue
            allowed = [other for other in PIPELINES if other != "none" or self.works_without_features]
            if value not in allowed:
                raise InputError(
                    f"{self.name}: representation must be one of {', '.join(allowed)}, got {value!r}",
                    field="hyperparameters",
                )
            known[name] = value
        return known

    def build(
        self,
        settings: Mapping[str, Value],
        *,
        n_algorithms: int,
        n_features: int,
        cutoff: float,
        seed: int,
        feature_budget: FeatureBudget | None = None,
    ) -> Policy:
        """Return a fresh policy with these settings, as returned by `settings`.

        With `feature_budget` it accepts instances without features, and records what features gain.
        """
        representation = pipeline(str(settings.get("representation", "none")), n_features)
        given = {
            **settings,
            "n_algorithms": n_algorithms,
            "n_features": representation.width,
            "cutoff": cutoff,
            "seed": seed,
            "representation": representation,
            "views": representation.views(),
            "feature_budget": feature_budget,
        }
        return self._policy(given)

    @abstractmethod
    def _policy(self, given: Mapping[str, Any]) -> Policy:
        """Return a fresh policy; its parts get by name those of the `given` that they have parameters for."""

    def describe(self) -> dict[str, Any]:
        """Return the row as plain values, for printing."""
        return {
            "name": self.name,
            "summary": self.summary,
            "kind": "schedule" if self.schedules else "online" if self.bounded else "batch",
            "takes_losses": self.takes_losses,
            "parts": {
                "representation": self.representation,
                **{slot: _label(part) for slot, part in self._slots().items()},
            },
            "hyperparameters": self._defaults(),
        }


@dataclass(frozen=True, kw_only=True)
class Recipe(Row):
    """A selector that picks once per instance: which part fills which slot of a `OnePick`."""

    learning_slot: ClassVar[str] = "model"
    model: Callable[..., Model]
    censoring: Callable[..., CensoringRule]
    exploration: Callable[..., Exploration]
    loss: Callable[..., Loss] = Predicted
    target: Callable[..., Target] = LogSeconds
    first_runs: Callable[..., ForcedExploration] = ForcedExploration

    def _slots(self) -> dict[str, Callable[..., Any]]:
        slots = ("model", "target", "censoring", "exploration", "loss", "first_runs")
        return {slot: getattr(self, slot) for slot in slots}

    def _declared(self) -> dict[str, Parameter]:
        return {**declared(OnePick), **super()._declared()}

    @property
    def predicts_runtimes(self) -> bool:
        return bool(_callee(self.target).predicts_runtimes and self._learner.learns)

    @property
    def takes_losses(self) -> bool:
        """Whether its model predicts a loss between 0 and 1, or learns nothing at all."""
        return bool(_callee(self.target).is_loss or not self._learner.learns)

    @property
    def options(self) -> dict[str, Value]:
        """Whether to fail over, and what all rows have."""
        return {"fail_over": 0, **super().options}

    def may_proceed(self, settings: Mapping[str, Value]) -> bool:
        """Whether another algorithm may follow on the same instance: after a failed one, with `fail_over`."""
        return bool(settings.get("fail_over"))

    def _policy(self, given: Mapping[str, Any]) -> OnePick:
        slots = {slot: made(part, given) for slot, part in self._slots().items()}
        window = given.get("window", 0)
        parts = Parts(given["representation"], feature_budget=given["feature_budget"], window=window, **slots)
        kind = WindowedPick if window else OnePick
        return made(kind, {**given, "parts": parts})


@dataclass(frozen=True, kw_only=True)
class ScheduleRecipe(Row):
    """A selector that may run several algorithms on an instance, one after the other.

    `policy` makes a `tailcut.policies.policy.Policy`. It gets, by name, those of the following that its
    constructor has a parameter for: `n_algorithms`, `n_features` (after the representation), `cutoff` (the
    selector's), `seed`, `representation` (a `Pipeline`), `feature_budget` and the hyperparameters.
    """

    policy: Callable[..., Policy]
    representation: str = "none"
    schedules: ClassVar[bool] = True
    learning_slot: ClassVar[str] = "policy"

    def _slots(self) -> dict[str, Callable[..., Any]]:
        return {"policy": self.policy}

    @property
    def predicts_runtimes(self) -> bool:
        return bool(self._learner.predicts_runtimes)

    def _policy(self, given: Mapping[str, Any]) -> Policy:
        return made(self.policy, given)


def _callee(part: Callable[..., Any]) -> Any:
    return part.func if isinstance(part, partial) else part


def _label(part: Callable[..., Any]) -> str:
    name = str(_callee(part).__name__)
    if not isinstance(part, partial):
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in part.keywords.items())})"
