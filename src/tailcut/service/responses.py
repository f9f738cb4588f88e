"""Responses: their models, which define the OpenAPI document, and errors as responses.

Responses are not checked against the models: they are made from values that are known to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException
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
from tailcut.journal.events import DamagedError


class NoProjectError(TailcutError, LookupError):
    """There is no project of that name."""


class BusyError(TailcutError, RuntimeError):
    """Too many requests at the same time."""


class SetAsideError(TailcutError, RuntimeError):
    """A project is damaged, so it is not available; others are."""


class LimitError(TailcutError, ValueError):
    """A limit of the server is reached."""


_STATUS: dict[int, tuple[type[TailcutError], ...]] = {
    404: (NoProjectError, UnknownDecisionError),
    409: (ConflictingOutcomeError, OutOfTurnError, NotExplainedError, LimitError),
    503: (BusyError, SetAsideError, JournalError),
}


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return values as JSON, without checking them by a model."""
    return Response(to_json(content, inf_nan_mode="null"), status, headers, "application/json")


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


def of_error(error: TailcutError) -> Response:
    """Return the response to one of Tailcut's errors."""
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


def of_http(error: HTTPException) -> Response:
    """Return the response to an error of HTTP."""
    return error_response(error.status_code, str(error.detail), headers=dict(error.headers or {}))


def of_validation(errors: Sequence[Any]) -> Response:
    """Return the response to a request with invalid fields."""
    fields = [(_path(error["loc"]), error["msg"].removeprefix("Value error, ")) for error in errors[:20]]
    return error_response(422, ": ".join(fields[0]), fields)


def _path(location: Sequence[Any]) -> str:
    """Return the location in the request, as names and positions joined by dots."""
    parts = [str(part) for part in location if part not in ("body", "query", "path", "vector", "named")]
    return ".".join(parts) or "body"


class FieldError(BaseModel):
    """What is wrong with one field."""

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


class DecisionResponse(BaseModel):
    """Which algorithm to run on an instance, and for how long."""

    id: int
    instance: str | None
    algorithm: str
    budget: float = Field(description="Seconds to give to this run")
    cutoff: float
    scores: dict[str, float | None] = Field(description="The lower the better")
    reason: str
    stage: int = Field(description="Runs on this instance before; only schedules have more than 0")
    spent: float
    repeated: bool = Field(description="Whether this response was given before")


class RaceResponse(BaseModel):
    """Which algorithms to run on an instance at once; observe every one of them."""

    decisions: list[DecisionResponse] = Field(description="At most k; none if no algorithm is left to run")


class ObservationResponse(BaseModel):
    """An outcome was taken in."""

    decision: int
    learned: bool = Field(description="False: this outcome was already known")


class ProceedResponse(BaseModel):
    """What to run next on the same instance; null: it is over."""

    decision: DecisionResponse | None


class FitResponse(BaseModel):
    """Recorded runs were learned."""

    runs: int = Field(description="How many")


class FeatureBudgetResponse(BaseModel):
    """How long computing the next instance's features may take."""

    seconds: float = Field(description="0: skip them")


class ItemError(BaseModel):
    """Why one item of a batch was not served; the others were."""

    status: int
    message: str
    field: str | None


class DecisionItem(BaseModel):
    """The response to one item of a batch: one of both is null."""

    decision: DecisionResponse | None
    error: ItemError | None


class DecisionBatchResponse(BaseModel):
    """Responses in the order of the requests."""

    answers: list[DecisionItem]


class ObservationItem(BaseModel):
    """The response to one item of a batch."""

    decision: int
    learned: bool
    error: ItemError | None


class ObservationBatchResponse(BaseModel):
    """Responses in the order of the outcomes."""

    answers: list[ObservationItem]


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


class ProjectListResponse(BaseModel):
    """All projects, in the order of their creation."""

    projects: list[ProjectResponse]


class RemovedResponse(BaseModel):
    """A project is gone."""

    removed: bool = Field(description="False: there was none")


class AlgorithmStatistics(BaseModel):
    """What is known about one algorithm."""

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


class AlgorithmEstimate(BaseModel):
    """What one algorithm alone would have cost, in seconds of PAR10 per instance."""

    name: str
    par10: float | None = Field(description="The estimate; null: it never ran")
    low: float
    high: float
    known: int = Field(description="On how many of the instances its cost is known")
    ran: int
    exact: bool = Field(description="Whether all costs are known, so that this is exact")


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


class HistoryEvent(BaseModel):
    """One event of the journal."""

    number: int
    at: float
    kind: str
    key: str | None
    body: dict[str, Any]


class HistoryResponse(BaseModel):
    """A page of events."""

    events: list[HistoryEvent]
    next: int | None = Field(description="The cursor of the next page; null: there is none")


class KnownOutcome(BaseModel):
    """How a run ended."""

    status: Literal["solved", "censored", "failed", "rated"]
    time: float | None
    loss: float | None = Field(default=None, description="Of a rated run: how bad its answer was, 0 to 1")
    at: float


class PastDecision(DecisionResponse):
    """A decision and, if it is known, its outcome."""

    at: float
    outcome: KnownOutcome | None


class PastDecisionsResponse(BaseModel):
    """A page of decisions, the newest first."""

    decisions: list[PastDecision]
    next: int | None = Field(description="The cursor of the next page; null: there is none")


class PendingDecision(BaseModel):
    """A decision that waits for its outcome."""

    id: int
    algorithm: str
    instance: str | None
    budget: float
    cutoff: float
    spent: float
    stage: int
    at: float


class PendingResponse(BaseModel):
    """Decisions that wait, the oldest first."""

    count: int
    decisions: list[PendingDecision]


class SurvivalPoint(BaseModel):
    """The share of runs still unsolved after some time."""

    time: float
    survival: float
    at_risk: int


class SurvivalResponse(BaseModel):
    """The survival curve of an algorithm's runs, estimated as Kaplan and Meier do."""

    algorithm: str
    cutoff: float
    runs: int
    curve: list[SurvivalPoint]


class BeliefResponse(BaseModel):
    """What the selector thought of one algorithm."""

    name: str
    score: float | None
    runs: int | None
    predicted_runtime: float | None
    low: float | None
    high: float | None
    timeout_probability: float | None
    expected_par: float | None


class EffectResponse(BaseModel):
    """What one feature weighed."""

    name: str | None
    index: int
    value: float | None
    effect: float | None


class ExplanationResponse(BaseModel):
    """Why a decision was made, or would be."""

    selector: str
    decision: int | None = Field(description="null where nothing was decided")
    instance: str | None
    algorithm: str
    reason: str
    budget: float
    cutoff: float
    penalty: float
    judged_by: str
    unit: str
    algorithms: list[BeliefResponse]
    rival: str | None
    features: list[EffectResponse]
    outcomes_since: int
    text: str = Field(description="The same as a table for people")


class HealthResponse(BaseModel):
    """Whether the service works."""

    status: Literal["ok", "failing"]
    version: str


class SelectorInfo(BaseModel):
    """A selector of the catalogue."""

    name: str
    summary: str
    kind: str
    hyperparameters: dict[str, Any]


class SelectorListResponse(BaseModel):
    """What a project may be made of."""

    selectors: list[SelectorInfo]
