"""A row of the catalogue: a selector as data, and how a policy is built from it.

Hyperparameters reach the parts by name: every part gets those that its constructor has a parameter for. So
`noise_variance` of a Buckley-James row sets both the posterior that is sampled and the one that imputes. A
hyperparameter that no part has a parameter for is an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, Self

from tailcut.errors import InputError, MissingExtraError
from tailcut.models import Model
from tailcut.policies.censoring import CensoringRule
from tailcut.policies.exploration import Exploration, ForcedExploration
from tailcut.policies.favourite import MARGIN, Favourite
from tailcut.policies.feature_budget import FeatureBudget
from tailcut.policies.hyperparameters import Parameter, Value, checked, declared, made
from tailcut.policies.losses import LogSeconds, Loss, Predicted, Target
from tailcut.policies.one_pick import OnePick, Parts, WindowedPick
from tailcut.policies.policy import Policy
from tailcut.representation import PIPELINES, pipeline
from tailcut.types import PENALTY


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

    def __post_init__(self) -> None:
        """Refuse a hyperparameter that no part takes."""
        known = self._declared()
        unused = [name for name in self.hyperparameters if name not in known]
        if unused:
            raise InputError(
                f"{self.name}: no part has a hyperparameter {', '.join(map(repr, unused))}; "
                f"they have: {', '.join(known)}",
                field="hyperparameters",
            )

    @property
    @abstractmethod
    def _learner(self) -> Any:
        """The class that learns: a model, or a whole policy."""

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
        """Return the hyperparameters that its parts have, by name."""
        parts = [*self._slots().values(), FeatureBudget, Favourite]
        return {name: parameter for part in parts for name, parameter in declared(part).items()}

    def feature_budget(self, settings: Mapping[str, Value]) -> FeatureBudget | None:
        """Return a new feature budget, for rows with a `feature_share`."""
        if "feature_share" not in settings or settings["representation"] == "none":
            return None
        budget: FeatureBudget = made(FeatureBudget, settings)
        return budget

    def favourite(self, settings: Mapping[str, Value]) -> Favourite:
        """Return the guard of the settings' favourite; without one, it allows all."""
        guard: Favourite = made(Favourite, settings)
        return guard

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
            if name == "representation":
                known[name] = self._checked_representation(value)
            else:
                known[name] = checked(self.name, name, value, offered[name], parameters[name])
        return known

    def _checked_representation(self, value: Any) -> str:
        allowed = [name for name in PIPELINES if name != "none" or self.works_without_features]
        if value not in allowed:
            raise InputError(
                f"{self.name}: representation must be one of {', '.join(allowed)}, got {value!r}",
                field="hyperparameters",
            )
        return str(value)

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

    model: Callable[..., Model]
    censoring: Callable[..., CensoringRule]
    exploration: Callable[..., Exploration]
    loss: Callable[..., Loss] = Predicted
    target: Callable[..., Target] = LogSeconds
    first_runs: Callable[..., ForcedExploration] = ForcedExploration

    def _slots(self) -> dict[str, Callable[..., Any]]:
        slots = ("model", "target", "censoring", "exploration", "loss", "first_runs")
        return {slot: getattr(self, slot) for slot in slots}

    @property
    def _learner(self) -> Any:
        return _callee(self.model)

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
        parts = Parts(given["representation"], feature_budget=given["feature_budget"], **slots)
        kind = WindowedPick if given.get("window") else OnePick
        policy: OnePick = made(kind, {"epsilon": 0.0, "penalty": PENALTY, **given, "parts": parts})
        return policy


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

    def _slots(self) -> dict[str, Callable[..., Any]]:
        return {"policy": self.policy}

    @property
    def _learner(self) -> Any:
        return _callee(self.policy)

    @property
    def predicts_runtimes(self) -> bool:
        return bool(self._learner.predicts_runtimes)

    def _policy(self, given: Mapping[str, Any]) -> Policy:
        policy: Policy = made(self.policy, given)
        return policy


def _callee(part: Callable[..., Any]) -> Any:
    return part.func if isinstance(part, partial) else part


def _label(part: Callable[..., Any]) -> str:
    name = str(_callee(part).__name__)
    if not isinstance(part, partial):
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in part.keywords.items())})"
