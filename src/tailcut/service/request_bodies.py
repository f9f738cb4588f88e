"""Request bodies: every value is checked here before it is used.

Of a million wrong values only the first is reported (`fail_fast`): a list of all would take gigabytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.types import Discriminator, StringConstraints, Tag

from tailcut.journal.project import MAX_PENDING
from tailcut.service import service_limits as limits
from tailcut.types import Outcome, Request


def _few_features(features: Any) -> Any:
    """Check an object as a whole, before its items: its size, and its first value that is not a number."""
    if isinstance(features, dict):
        _few_items(features, limits.FEATURES)
        wrong = (name for name, value in features.items() if not isinstance(value, int | float | None))
        name = next(wrong, None)
        if name is not None:
            raise ValueError(f"{name[:50]!r} must be a number or null")
    return features


def _few_items(mapping: Any, limit: int = 100) -> Any:
    if isinstance(mapping, dict) and len(mapping) > limit:
        raise ValueError(f"at most {limit} items are allowed, got {len(mapping)}")
    return mapping


T = TypeVar("T")
_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

ProjectName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", max_length=64)]
AlgorithmName = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.ALGORITHM_NAME, pattern=_PRINTABLE)
]
FeatureName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)]
InstanceName = Annotated[str, StringConstraints(max_length=1_000)]
Value = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e100, le=1e100)]
"""Of a feature: its square must be a number."""
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=limits.SECONDS)]
Cutoff = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0.0, le=limits.SECONDS)]
LossShare = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1.0)]
Number = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Flag = Annotated[bool, Field(strict=True)]
Key = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)] | None,
    Field(description="Your name for this request: the same name gives the same response"),
]
Vector = Annotated[list[Value | None], Field(max_length=limits.FEATURES, fail_fast=True), Tag("vector")]
Named = Annotated[
    dict[FeatureName, Value | None],
    Field(max_length=limits.FEATURES),
    BeforeValidator(_few_features),
    Tag("named"),
]
Features = Annotated[
    Vector | Named, Discriminator(lambda value: "named" if isinstance(value, dict) else "vector")
]
Algorithms = Annotated[list[AlgorithmName], Field(fail_fast=True, min_length=1, max_length=limits.ALGORITHMS)]
Subset = Annotated[
    list[AlgorithmName] | None,
    Field(fail_fast=True, min_length=1, max_length=limits.ALGORITHMS, description="A subset to choose from"),
]
Names = Annotated[list[FeatureName] | None, Field(fail_fast=True, max_length=limits.FEATURES)]
RunTimes = dict[AlgorithmName, Seconds]
Row = Annotated[list[T], Field(max_length=limits.ALGORITHMS, fail_fast=True)]
"""A value for each algorithm."""
Rows = Annotated[list[T], Field(fail_fast=True, min_length=1, max_length=limits.FIT_INSTANCES)]
"""A value for each instance."""
MaybeRows = Annotated[list[T] | None, Field(fail_fast=True, max_length=limits.FIT_INSTANCES)]
Scalar = Flag | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Value
Hyperparameter = Scalar | Annotated[str, StringConstraints(max_length=200)] | None
_FEW = 20
"""Up to this many unknown fields are all named; of more, only the first."""


class Body(BaseModel):
    """A JSON object in which every field is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @property
    def steps(self) -> int:
        """The number of decisions or outcomes that it asks for."""
        return 1

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
    name: ProjectName = Field(description="Letters, digits and . _ -", examples=["sat"])
    algorithms: Algorithms = Field(examples=[["kissat", "minisat"]])
    cutoff: Cutoff = Field(description="Seconds after which an instance counts as unsolved", examples=[300.0])
    selector: Annotated[str, StringConstraints(max_length=100)] = "tailcut"
    """A name from `tailcut selectors`"""
    seed: Number = 0
    feature_names: Names = None
    hyperparameters: Annotated[
        dict[Annotated[str, StringConstraints(max_length=100)], Hyperparameter],
        BeforeValidator(_few_items),
    ] = Field(default={}, max_length=100)
    max_pending: Number = Field(default=MAX_PENDING, ge=1)
    """Decisions that may wait; then the oldest is dropped"""


class SelectBody(Body):
    features: Features | None = Field(default=None, examples=[[0.3, 120.0]])
    """A vector, or an object of names and values; null where a value is missing"""
    instance: InstanceName | None = None
    cutoff: Cutoff | None = Field(default=None, description="For this instance only")
    among: Subset = None
    spent: Seconds = Field(default=0.0, description="Seconds of the cutoff already used")
    feature_cost: Seconds = 0.0
    """Seconds that computing the features took, or trying to; on top of `spent`"""
    key: Key = None

    def request(self) -> Request:
        features: Any = self.features
        return Request(features, self.instance, self.cutoff, self.among, self.spent, self.feature_cost)


class RaceBody(SelectBody):
    """An instance on which several algorithms are to run at once."""

    k: int = Field(strict=True, ge=1, le=limits.ALGORITHMS, description="Runs at once, at most")
    running: RunTimes = Field(default={}, max_length=limits.ALGORITHMS)
    """Algorithms already running on it, and for how many seconds"""
    failed: RunTimes = Field(default={}, max_length=limits.ALGORITHMS)
    """Algorithms whose runs on it have ended without an answer, and after how many seconds"""

    @property
    def steps(self) -> int:
        return self.k


class SelectBatchBody(Body):
    requests: list[SelectBody] = Field(fail_fast=True, min_length=1, max_length=limits.BATCH)

    @property
    def steps(self) -> int:
        return len(self.requests)


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
    censored_at: Cutoff | None = None
    """Seconds after which it was stopped unsolved"""
    failed: Flag = False
    """It ended without an answer: crashed, out of memory, wrong"""
    loss: LossShare | None = None
    """How bad its answer was, from 0 to 1, where that counts and not the time"""

    @model_validator(mode="after")
    def _one_outcome(self) -> Self:
        given = sum(one is not None for one in (self.runtime, self.censored_at, self.loss)) + self.failed
        if given != 1:
            raise ValueError(f"give exactly one of runtime, censored_at, loss and failed=true; got {given}")
        return self

    def outcome(self) -> Outcome:
        return Outcome.one_of(None, self.runtime, self.censored_at, self.failed, self.loss)


class ObserveBatchBody(Body):
    outcomes: list[ObserveBody] = Field(fail_fast=True, min_length=1, max_length=limits.BATCH)

    @property
    def steps(self) -> int:
        return len(self.outcomes)


class ProceedBody(Body):
    """Continue with the instance of a decision that was observed unsolved."""

    decision: Number = Field(description="The id of the last decision on the instance")
    spent: Seconds | None = None
    """Seconds of the cutoff used so far, if you know better than the outcomes"""


class AlgorithmBody(Body):
    name: AlgorithmName


class ConsiderBody(Body):
    """An instance for which nothing is decided yet."""

    features: Features | None = Field(default=None, examples=[[0.3, 120.0]])
    """As in select; null where a value is missing"""
    cutoff: Cutoff | None = Field(default=None, description="For this instance only")
    among: Subset = None
    top: Number = Field(default=5, le=100, description="How many features to show")


class FitBody(Body):
    """Recorded runs: n instances with d features, K algorithms."""

    algorithms: Algorithms = Field(description="Names of the K algorithms")
    cutoff: Cutoff = Field(description="Seconds after which a run was stopped")
    feature_names: Names = Field(default=None, description="d names; null: features have none")
    features: Rows[Annotated[list[Value | None], Field(max_length=limits.FEATURES, fail_fast=True)]]
    """n rows of d values, null where missing"""
    runtimes: Rows[Row[Value | None]]
    """n rows of K times in seconds; null where unsolved: nothing is known about the run"""
    solved: Rows[Row[Flag]] = Field(description="n rows of K: solved within the cutoff")
    known: MaybeRows[Row[Flag]] = Field(default=None, description="n rows of K: whether to learn the run")
    instances: MaybeRows[InstanceName] = None
    """n names; those of one name are the same instance"""
    watched: MaybeRows[Row[Cutoff | None]] = None
    """n rows of K times in seconds: when an unsolved run was stopped; null: at the cutoff"""
    feature_cost: MaybeRows[Seconds | None] = None
    """n times in seconds: how long computing the features took; null: not known"""
    key: Key = None
