"""Request bodies: every value is checked here before it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)

from tailcut.journal.project_description import MAX_PENDING
from tailcut.service import service_limits as limits
from tailcut.types import Outcome, Request


def small_mapping(limit: int) -> Callable[[Any], Any]:
    """Return a check of an object as a whole: its size, and its first value that is not a number."""

    def check(given: Any) -> Any:
        if isinstance(given, dict):
            if len(given) > limit:
                raise ValueError(f"at most {limit} items are allowed, got {len(given)}")
            wrong = (name for name, value in given.items() if not isinstance(value, int | float | None))
            name = next(wrong, None)
            if name is not None:
                raise ValueError(f"{name[:50]!r} must be a number or null")
        return given

    return check


def few_items(limit: int) -> Callable[[Any], Any]:
    """Return a check of an object's size, which runs before its items are checked."""

    def check(given: Any) -> Any:
        if isinstance(given, dict) and len(given) > limit:
            raise ValueError(f"at most {limit} items are allowed, got {len(given)}")
        return given

    return check


_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

ProjectName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", max_length=limits.NAME)
]
AlgorithmName = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.ALGORITHM_NAME, pattern=_PRINTABLE)
]
FeatureName = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.FEATURE_NAME, pattern=_PRINTABLE)
]
InstanceName = Annotated[str, StringConstraints(max_length=limits.INSTANCE)]
Value = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-limits.LARGEST, le=limits.LARGEST)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=limits.SECONDS)]
Cutoff = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0.0, le=limits.SECONDS)]
LossShare = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1.0)]
Number = Annotated[int, Field(strict=True, ge=0, le=2**53)]

# Of a million wrong values only the first is reported: a list of all would take gigabytes.
_FAST = Field(fail_fast=True)
Vector = Annotated[list[Value | None], Field(max_length=limits.FEATURES), _FAST, Tag("vector")]
Named = Annotated[
    dict[FeatureName, Value | None],
    Field(max_length=limits.FEATURES),
    BeforeValidator(small_mapping(limits.FEATURES)),
    Tag("named"),
]


Key = Annotated[str, StringConstraints(min_length=1, max_length=limits.KEY, pattern=_PRINTABLE)]
_KEY = "Your name for this request: the same name gives the same response"
Flag = Annotated[bool, Field(strict=True)]


def _form(value: Any) -> str:
    return "named" if isinstance(value, dict) else "vector"


Features = Annotated[Vector | Named, Discriminator(_form)]
Scalar = Flag | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Value
Hyperparameter = Scalar | Annotated[str, StringConstraints(max_length=200)] | None
_FEW = 20
"""Up to this many unknown fields are all named; of more, only the first."""


class Body(BaseModel):
    """A JSON object in which every field is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown_fields(cls, given: Any) -> Any:
        if not isinstance(given, dict) or len(given) <= _FEW:  # as almost always
            return given
        if len(given) > len(cls.model_fields) + _FEW:
            unknown = next(name for name in given if name not in cls.model_fields)
            raise ValueError(f"there are {len(given)} fields, of which {unknown[:50]!r} is not known")
        return given


class ProjectBody(Body):
    """A project: a selector with a name."""

    name: ProjectName = Field(description="Letters, digits and . _ -", examples=["sat"])
    algorithms: list[AlgorithmName] = Field(
        fail_fast=True, min_length=1, max_length=limits.ALGORITHMS, examples=[["kissat", "minisat"]]
    )
    cutoff: Cutoff = Field(description="Seconds after which an instance counts as unsolved", examples=[300.0])
    selector: Annotated[str, StringConstraints(max_length=100)] = Field(
        default="tailcut", description="A name from `tailcut selectors`"
    )
    seed: Number = 0
    feature_names: list[FeatureName] | None = Field(fail_fast=True, default=None, max_length=limits.FEATURES)
    hyperparameters: Annotated[
        dict[Annotated[str, StringConstraints(max_length=100)], Hyperparameter],
        BeforeValidator(few_items(100)),
    ] = Field(default={}, max_length=100)
    max_pending: Number = Field(
        default=MAX_PENDING, ge=1, description="Decisions that may wait; then the oldest is dropped"
    )


class SelectBody(Body):
    """An instance that needs a decision."""

    features: Features | None = Field(
        default=None,
        description="A vector, or an object of names and values; null where a value is missing",
        examples=[[0.3, 120.0]],
    )
    instance: InstanceName | None = None
    cutoff: Cutoff | None = Field(default=None, description="For this instance only")
    among: list[AlgorithmName] | None = Field(
        fail_fast=True,
        default=None,
        min_length=1,
        max_length=limits.ALGORITHMS,
        description="A subset to choose from",
    )
    spent: Seconds = Field(default=0.0, description="Seconds of the cutoff already used")
    feature_cost: Seconds = Field(
        default=0.0, description="Seconds that computing the features took, or trying to; on top of `spent`"
    )
    key: Key | None = Field(default=None, description=_KEY)

    def request(self) -> Request:
        """Return the request; null is a missing value."""
        features: Any = self.features
        return Request(features, self.instance, self.cutoff, self.among, self.spent, self.feature_cost)


class RaceBody(SelectBody):
    """An instance on which several algorithms are to run at once."""

    k: int = Field(strict=True, ge=1, le=limits.ALGORITHMS, description="Runs at once, at most")
    running: dict[AlgorithmName, Seconds] = Field(
        default={},
        max_length=limits.ALGORITHMS,
        description="Algorithms already running on it, and for how many seconds",
    )
    failed: dict[AlgorithmName, Seconds] = Field(
        default={},
        max_length=limits.ALGORITHMS,
        description="Algorithms whose runs on it have ended without an answer, and after how many seconds",
    )


class SelectBatchBody(Body):
    """Several instances that need decisions."""

    requests: list[SelectBody] = Field(fail_fast=True, min_length=1, max_length=limits.BATCH)


_OUTCOMES: list[JsonValue] = [
    {"required": ["runtime"], "properties": {"runtime": {"type": "number"}}},
    {"required": ["censored_at"], "properties": {"censored_at": {"type": "number"}}},
    {"required": ["failed"], "properties": {"failed": {"const": True}}},
    {"required": ["loss"], "properties": {"loss": {"type": "number"}}},
]


class ObserveBody(Body):
    """How a run went: exactly one of runtime, censored_at, failed and loss."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _OUTCOMES})

    decision: Number = Field(description="The decision's id")
    runtime: Seconds | None = Field(default=None, description="Seconds until it was solved")
    censored_at: Cutoff | None = Field(
        default=None, description="Seconds after which it was stopped unsolved"
    )
    failed: Flag = Field(
        default=False, description="It ended without an answer: crashed, out of memory, wrong"
    )
    loss: LossShare | None = Field(
        default=None, description="How bad its answer was, from 0 to 1, where that counts and not the time"
    )

    @model_validator(mode="after")
    def _one_outcome(self) -> Self:
        given = sum(one is not None for one in (self.runtime, self.censored_at, self.loss)) + self.failed
        if given != 1:
            raise ValueError(f"give exactly one of runtime, censored_at, loss and failed=true; got {given}")
        return self

    def outcome(self) -> Outcome:
        """Return the outcome that was sent."""
        if self.loss is not None:
            return Outcome.rated(self.loss)
        if self.runtime is not None:
            return Outcome.solved(self.runtime)
        return Outcome.failed() if self.censored_at is None else Outcome.censored(self.censored_at)


class ObserveBatchBody(Body):
    """How several runs went."""

    outcomes: list[ObserveBody] = Field(fail_fast=True, min_length=1, max_length=limits.BATCH)


class ProceedBody(Body):
    """Continue with the instance of a decision that was observed unsolved."""

    decision: Number = Field(description="The id of the last decision on the instance")
    spent: Seconds | None = Field(
        default=None, description="Seconds of the cutoff used so far, if you know better than the outcomes"
    )


class AlgorithmBody(Body):
    """One more algorithm to choose from."""

    name: AlgorithmName


class ConsiderBody(Body):
    """An instance for which nothing is decided yet."""

    features: Features | None = Field(
        default=None, description="As in select; null where a value is missing", examples=[[0.3, 120.0]]
    )
    cutoff: Cutoff | None = Field(default=None, description="For this instance only")
    among: list[AlgorithmName] | None = Field(
        fail_fast=True,
        default=None,
        min_length=1,
        max_length=limits.ALGORITHMS,
        description="A subset to choose from",
    )
    top: Number = Field(default=5, le=100, description="How many features to show")


_FEATURE_ROW = Annotated[list[Value | None], Field(max_length=limits.FEATURES), _FAST]
_SECONDS_ROW = Annotated[list[Value | None], Field(max_length=limits.ALGORITHMS), _FAST]
_WATCHED_ROW = Annotated[list[Cutoff | None], Field(max_length=limits.ALGORITHMS), _FAST]
_FLAG_ROW = Annotated[list[Flag], Field(max_length=limits.ALGORITHMS), _FAST]


class FitBody(Body):
    """Recorded runs: n instances with d features, K algorithms."""

    algorithms: list[AlgorithmName] = Field(
        fail_fast=True, min_length=1, max_length=limits.ALGORITHMS, description="Names of the K algorithms"
    )
    cutoff: Cutoff = Field(description="Seconds after which a run was stopped")
    feature_names: list[FeatureName] | None = Field(
        fail_fast=True,
        default=None,
        max_length=limits.FEATURES,
        description="d names; null: features have none",
    )
    features: list[_FEATURE_ROW] = Field(
        fail_fast=True,
        min_length=1,
        max_length=limits.FIT_INSTANCES,
        description="n rows of d values, null where missing",
    )
    runtimes: list[_SECONDS_ROW] = Field(
        fail_fast=True,
        min_length=1,
        max_length=limits.FIT_INSTANCES,
        description="n rows of K times in seconds; null where unsolved: nothing is known about the run",
    )
    solved: list[_FLAG_ROW] = Field(
        fail_fast=True,
        min_length=1,
        max_length=limits.FIT_INSTANCES,
        description="n rows of K: solved within the cutoff",
    )
    known: list[_FLAG_ROW] | None = Field(
        fail_fast=True,
        default=None,
        max_length=limits.FIT_INSTANCES,
        description="n rows of K: whether to learn the run",
    )
    instances: list[InstanceName] | None = Field(
        fail_fast=True,
        default=None,
        max_length=limits.FIT_INSTANCES,
        description="n names; those of one name are the same instance",
    )
    watched: list[_WATCHED_ROW] | None = Field(
        fail_fast=True,
        default=None,
        max_length=limits.FIT_INSTANCES,
        description="n rows of K times in seconds: when an unsolved run was stopped; null: at the cutoff",
    )
    feature_cost: list[Seconds | None] | None = Field(
        fail_fast=True,
        default=None,
        max_length=limits.FIT_INSTANCES,
        description="n times in seconds: how long computing the features took; null: not known",
    )
    key: Key | None = Field(default=None, description=_KEY)
