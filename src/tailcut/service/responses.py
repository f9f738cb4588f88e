"""Responses: their models, which define the OpenAPI document, and errors as responses.

Responses are not checked against the models: they are made from values that are known to fit. What a response
has in common with one of Tailcut's own types, its model takes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, get_type_hints

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, create_model
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tailcut.errors import (
    ConflictingOutcomeError,
    InputError,
    JournalError,
    NotExplainedError,
    OutOfTurnError,
    TailcutError,
    UnknownDecisionError,
)
from tailcut.estimate import SingleSolverEstimate
from tailcut.explain import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.journal.events import DamagedError, Event
from tailcut.journal.statistics import SurvivalStep, Waiting
from tailcut.types import Decision

M = TypeVar("M", bound=BaseModel)


class NoProjectError(TailcutError, LookupError):
    """There is no project of that name."""


class BusyError(TailcutError, RuntimeError):
    """Too many requests at the same time."""


class SetAsideError(TailcutError, RuntimeError):
    """A project is damaged, so it is not available; others are."""


class LimitError(TailcutError, ValueError):
    """A limit of the server is reached."""


_NOT_SHOWN = ("body", "query", "path", "vector", "named")
"""Parts of a field's location that only Pydantic knows."""
_STATUS: dict[int, tuple[type[TailcutError], ...]] = {
    404: (NoProjectError, UnknownDecisionError),
    409: (ConflictingOutcomeError, OutOfTurnError, NotExplainedError, LimitError),
    503: (BusyError, SetAsideError, JournalError),
}


def to_json(content: Any) -> bytes:
    """Return JSON as Python's own module would write it, except for blanks, but many times faster.

    Numbers of numpy are numbers; nan and infinities become null.

    >>> import json
    >>> json.loads(to_json({"x": [0.1, 1e-300, None], "ä": "'"}))
    {'x': [0.1, 1e-300, None], 'ä': "'"}
    """
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(to_json(content), status, headers, "application/json")


def error_response(
    status: int,
    message: str,
    errors: Sequence[tuple[str, str]] = (),
    *,
    request_id: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return an error response; `errors` are the fields at fault and what is wrong with each."""
    fields = [{"field": field, "message": text} for field, text in errors]
    content = {"status": status, "message": message, "errors": fields, "id": request_id}
    return json_response(content, status, headers)


async def of_error(_: Request, error: TailcutError) -> Response:
    status, message, field = described(error).values()
    errors = [(field, message)] if field else []
    return error_response(status, message, errors, headers={"Retry-After": "1"} if status == 503 else None)


def described(error: TailcutError) -> dict[str, Any]:
    """Return an error's status, message and field, as for one item of a batch.

    >>> described(InputError("expected 3 features, got 2", field="features"))
    {'status': 422, 'message': 'expected 3 features, got 2', 'field': 'features'}
    """
    status = next((status for status, kinds in _STATUS.items() if isinstance(error, kinds)), 422)
    message, field = str(error), None
    if status == 422:
        field = (error.field if isinstance(error, InputError) else None) or "body"
    elif isinstance(error, DamagedError):
        message = f"the project is damaged and set aside: {error.reason}"
    elif isinstance(error, JournalError) and error.full:
        status = 507
        message = "the server's disk is full: nothing was changed; free some room and try again"
    elif isinstance(error, JournalError):  # without details about the server's disk
        message = "the server cannot write its state at the moment: nothing was changed; try again"
    return {"status": status, "message": message, "field": field}


async def of_http(_: Request, error: HTTPException) -> Response:
    return error_response(error.status_code, str(error.detail), headers=dict(error.headers or {}))


async def of_validation(_: Request, invalid: RequestValidationError) -> Response:
    """Respond to invalid fields: where they are in the request, names and positions joined by dots."""
    fields = []
    for error in invalid.errors()[:20]:
        place = [str(part) for part in error["loc"] if part not in _NOT_SHOWN]
        fields.append((".".join(place) or "body", error["msg"].removeprefix("Value error, ")))
    return error_response(422, ": ".join(fields[0]), fields)


class FieldError(BaseModel):
    field: str = Field(examples=["features.3"])
    message: str


class ErrorResponse(BaseModel):
    """Why a request was not served."""

    status: int
    message: str
    errors: list[FieldError] = Field(default=[], description="The fields at fault, if any")
    id: str | None = Field(default=None, description="Look for it in the server's log")


_MEANINGS = {
    400: "The body cannot be read",
    401: "No valid token",
    403: "The token does not allow this",
    404: "There is no such thing",
    409: "It contradicts what is known, or a limit is reached",
    413: "The body is too large",
    422: "A field is not what it should be",
    500: "A fault of the server; look for the id in its log",
    503: "The state cannot be written at the moment, or there are too many requests",
    507: "The disk is full",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text} for status, text in _MEANINGS.items()
}
"""Error responses common to all routes, for the OpenAPI document."""


def holding(name: str, **fields: Any) -> type[BaseModel]:
    """Return the model of a response that only holds other things: its name, and each field's type."""
    definitions: Any = {field: (kind, ...) for field, kind in fields.items()}
    model: type[BaseModel] = create_model(name, **definitions)
    return model


def _with_fields_of(kind: type, *without: str) -> Callable[[type[M]], type[M]]:
    """Return a decorator that gives a model the fields of a class, apart from those it has itself."""

    def complete(model: type[M]) -> type[M]:
        kinds = get_type_hints(kind)
        missing: Any = {
            name: (kinds[name], ...) for name in kinds if name not in {*model.model_fields, *without}
        }
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **missing)

    return complete


@_with_fields_of(Decision, "origin")
class DecisionResponse(BaseModel):
    """Which algorithm to run on an instance, and for how long."""

    budget: float = Field(description="Seconds to give to this run")
    scores: dict[str, float | None] = Field(description="The lower the better")
    stage: int = Field(description="Runs on this instance before; only schedules have more than 0")
    spent: float
    repeated: bool = Field(description="Whether this response was given before")


class ItemError(BaseModel):
    """Why one item of a batch was not served; the others were."""

    status: int
    message: str
    field: str | None


class DecisionItem(BaseModel):
    """The response to one item of a batch: one of both is null."""

    decision: DecisionResponse | None
    error: ItemError | None


class ObservationItem(BaseModel):
    decision: int
    learned: bool
    error: ItemError | None


class ProjectResponse(BaseModel):
    """A project and what its selector is."""

    name: str
    created: float = Field(description="Seconds since 1970")
    selector: str
    algorithms: list[str]
    cutoff: float
    seed: int
    hyperparameters: dict[str, Any]
    feature_names: list[str] | None
    n_features: int | None = Field(description="null until the first decision")
    needs_features: bool
    feature_budget: float = Field(
        description="Seconds that computing the next instance's features may take; 0: skip them"
    )
    schedules: bool = Field(description="Whether proceed may give another run on the same instance")
    max_pending: int
    pending: int
    decisions: int
    instances: int = Field(description="Completed instances")
    solved: int
    par10: float | None
    last_event: int


class AlgorithmStatistics(BaseModel):
    name: str
    chosen: int
    share: float = Field(description="Of all decisions")
    solved: int
    censored: int
    failed: int
    mean_runtime: float | None = Field(description="Seconds, of solved runs")
    par10: float | None = Field(description="Seconds, over its own instances; null for schedules")
    mean_loss: float | None = Field(description="Of its runs, where losses count and not times; else null")


class StatisticsPoint(BaseModel):
    """Where things stood after some instances."""

    instances: int
    at: float
    par10: float
    par10_latest: float = Field(description="PAR10 of the instances since the point before")
    solved: int
    unsolved: int


class LatencyStatistics(BaseModel):
    """Milliseconds from a request's arrival until its decision was on disk, of the latest decisions."""

    count: int
    p50: float | None
    p99: float | None
    latest: list[float] = Field(description="Oldest first")


class StatisticsResponse(BaseModel):
    """What a project has done so far."""

    project: str
    selector: str
    at: float
    last_event: int
    decisions: int
    outcomes: int
    pending: int
    given_up: int = Field(description="Decisions whose outcome never came and that were forgotten")
    instances: int = Field(description="Completed instances")
    solved: int
    unsolved: int
    par10: float | None = Field(description="Seconds; null where losses count and not times")
    mean_loss: float | None = Field(description="Where losses count; a run that failed loses 1; else null")
    algorithms: list[AlgorithmStatistics]
    curve: list[StatisticsPoint] = Field(description="At most 256 points, oldest first")
    latency_ms: LatencyStatistics


@_with_fields_of(SingleSolverEstimate)
class AlgorithmEstimate(BaseModel):
    """What one algorithm alone would have cost, in seconds of PAR10 per instance."""

    par10: float | None = Field(description="The estimate; null: it never ran")


class SavedEstimate(BaseModel):
    """Seconds of PAR10 per instance saved against the best single algorithm; below 0: lost."""

    estimate: float
    low: float
    high: float


class RunEstimateValues(BaseModel):
    """What a project cost, and what each single algorithm would have cost on the same instances."""

    is_estimate: Literal[True]
    level: float = Field(description="How often an interval should contain the truth")
    instances: int
    par10: float
    best: str | None = Field(description="The algorithm with the lowest estimate")
    saved: SavedEstimate | None
    solvers: list[AlgorithmEstimate] = Field(description="The lowest estimate first")


class EstimateResponse(BaseModel):
    """The latest estimate; null: there is none yet."""

    last_event: int | None = Field(description="The last event it includes")
    estimate: RunEstimateValues | None
    under_way: bool = Field(description="Whether a newer one is being computed")


@_with_fields_of(Event)
class HistoryEvent(BaseModel):
    kind: str


class KnownOutcome(BaseModel):
    status: Literal["solved", "censored", "failed", "rated"]
    time: float | None
    loss: float | None = Field(default=None, description="Of a rated run: how bad its answer was, 0 to 1")
    at: float


class PastDecision(DecisionResponse):
    """A decision and, if it is known, its outcome."""

    at: float
    outcome: KnownOutcome | None


@_with_fields_of(Waiting, "race")
class PendingDecision(BaseModel):
    id: int


@_with_fields_of(SurvivalStep)
class SurvivalPoint(BaseModel):
    """The share of runs still unsolved after some time."""


@_with_fields_of(AlgorithmBelief)
class BeliefResponse(BaseModel):
    """What the selector thought of one algorithm."""


@_with_fields_of(FeatureEffect)
class EffectResponse(BaseModel):
    """What one feature weighed."""

    value: float | None
    effect: float | None


@_with_fields_of(Explanation)
class ExplanationResponse(BaseModel):
    """Why a decision was made, or would be."""

    decision: int | None = Field(description="null where nothing was decided")
    algorithms: list[BeliefResponse]
    features: list[EffectResponse]
    text: str = Field(description="The same as a table for people")


class SelectorInfo(BaseModel):
    name: str
    summary: str
    kind: str
    hyperparameters: dict[str, Any]
