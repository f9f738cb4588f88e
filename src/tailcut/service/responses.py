"""Responses: their models, which define the OpenAPI document, and errors as responses.

Responses are not checked against the models: they are made from values that are known to fit. What a response
has in common with one of Tailcut's own types, its model takes from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_type_hints

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, create_model
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tailcut import errors
from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.estimate import SingleSolverEstimate
from tailcut.explain import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.journal.events import DamagedError, Event
from tailcut.journal.statistics import SurvivalStep, Waiting
from tailcut.types import Decision


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
    404: (NoProjectError, errors.UnknownDecisionError),
    409: (
        *(errors.ConflictingOutcomeError, errors.RepeatedKeyError, errors.OutOfTurnError),
        *(errors.NotExplainedError, LimitError),
    ),
    503: (BusyError, SetAsideError, JournalError),
}


def to_json(content: Any) -> bytes:
    """Return JSON, many times faster than Python's own module; nan and infinities become null.

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
    request_id: str | None = None,
    *,
    errors: Sequence[tuple[str, str]] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """Return an error response; `errors` are the fields at fault and what is wrong with each."""
    fields = [{"field": field, "message": text} for field, text in errors]
    content = {"status": status, "message": message, "errors": fields, "id": request_id}
    return json_response(content, status, headers)


async def of_error(_: Request, error: TailcutError) -> Response:
    status, message, field = described(error).values()
    errors = [(field, message)] if field else []
    headers = {"Retry-After": "1"} if status == 503 else None
    return error_response(status, message, errors=errors, headers=headers)


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
    elif isinstance(error, JournalError) and error.uncertain:
        message = "the server could not finish writing its state: it is unknown whether this was done; "
        message += "repeat it with the same key"
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
    return error_response(422, ": ".join(fields[0]), errors=fields)


class FieldError(BaseModel):
    field: str = Field(examples=["features.3"])
    message: str


class ErrorResponse(BaseModel):
    status: int
    message: str
    errors: list[FieldError] = Field(default=[], description="The fields at fault, if any")
    id: str | None = Field(default=None, description="Look for it in the server's log")


class KnownOutcome(BaseModel):
    status: Literal["solved", "censored", "failed", "rated"]
    time: float | None
    loss: float | None = Field(default=None, description="Of a rated run: how bad its answer was, 0 to 1")
    at: float


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


def model(
    name: str,
    meaning: str | None = None,
    /,
    *,
    like: type | None = None,
    base: type[BaseModel] = BaseModel,
    **fields: Any,
) -> type[BaseModel]:
    """Return a model with these fields: each is a type, or a type and what the field means.

    A type in brackets stands for lists of it. The model also has the fields of the class `like`, apart from
    those given here; None leaves a field out.
    """
    definitions: Any = {}
    for field, given in {**(get_type_hints(like) if like else {}), **fields}.items():
        kind, description = given if isinstance(given, tuple) else (given, None)
        if isinstance(kind, list):
            kind = list[kind[0]]  # type: ignore[valid-type]
        if kind is not None:
            definitions[field] = (kind, Field(description=description))
    made: type[BaseModel] = create_model(name, __base__=base, __doc__=meaning, **definitions)
    return made


DecisionResponse = model(
    "DecisionResponse",
    "Which algorithm to run on an instance, and for how long.",
    like=Decision,
    origin=None,
    budget=(float, "Seconds to give to this run"),
    scores=(dict[str, float | None], "The lower the better"),
    stage=(int, "Runs on this instance before; only schedules have more than 0"),
    repeated=(bool, "Whether this response was given before"),
)
ItemError = model("ItemError", status=int, message=str, field=str | None)
DecisionItem = model("DecisionItem", decision=DecisionResponse | None, error=ItemError | None)
ObservationItem = model("ObservationItem", decision=int, learned=bool, error=ItemError | None)
ProjectResponse = model(
    "ProjectResponse",
    "A project and what its selector is.",
    name=str,
    created=(float, "Seconds since 1970"),
    selector=str,
    algorithms=list[str],
    cutoff=float,
    seed=int,
    hyperparameters=dict[str, Any],
    feature_names=list[str] | None,
    n_features=(int | None, "null until the first decision"),
    needs_features=bool,
    feature_budget=(float, "Seconds that computing the next instance's features may take; 0: skip them"),
    schedules=(bool, "Whether proceed may give another run on the same instance"),
    max_pending=int,
    pending=int,
    decisions=int,
    instances=(int, "Completed instances"),
    solved=int,
    par10=float | None,
    last_event=int,
)
AlgorithmStatistics = model(
    "AlgorithmStatistics",
    name=str,
    chosen=int,
    share=(float, "Of all decisions"),
    solved=int,
    censored=int,
    failed=int,
    mean_runtime=(float | None, "Seconds, of solved runs"),
    par10=(float | None, "Seconds, over its own instances; null for schedules"),
    mean_loss=(float | None, "Of its runs, where losses count and not times; else null"),
)
StatisticsPoint = model(
    "StatisticsPoint",
    "Where things stood after some instances.",
    instances=int,
    at=float,
    par10=float,
    par10_latest=(float, "PAR10 of the instances since the point before"),
    solved=int,
    unsolved=int,
)
LatencyStatistics = model(
    "LatencyStatistics",
    "Milliseconds from a request's arrival until its decision was on disk, of the latest decisions.",
    count=int,
    p50=float | None,
    p99=float | None,
    latest=(list[float], "Oldest first"),
)
StatisticsResponse = model(
    "StatisticsResponse",
    "What a project has done so far.",
    project=str,
    selector=str,
    at=float,
    last_event=int,
    decisions=int,
    outcomes=int,
    pending=int,
    given_up=(int, "Decisions whose outcome never came and that were forgotten"),
    instances=(int, "Completed instances"),
    solved=int,
    unsolved=int,
    par10=(float | None, "Seconds; null where losses count and not times"),
    mean_loss=(float | None, "Where losses count; a run that failed loses 1; else null"),
    algorithms=[AlgorithmStatistics],
    curve=([StatisticsPoint], "At most 256 points, oldest first"),
    latency_ms=LatencyStatistics,
)
AlgorithmEstimate = model(
    "AlgorithmEstimate",
    "What one algorithm alone would have cost, in seconds of PAR10 per instance.",
    like=SingleSolverEstimate,
    par10=(float | None, "The estimate; null: it never ran"),
)
SavedEstimate = model("SavedEstimate", estimate=float, low=float, high=float)
RunEstimateValues = model(
    "RunEstimateValues",
    "What a project cost, and what each single algorithm would have cost on the same instances.",
    is_estimate=Literal[True],
    level=(float, "How often an interval should contain the truth"),
    instances=int,
    par10=float,
    best=(str | None, "The algorithm with the lowest estimate"),
    saved=(SavedEstimate | None, "Seconds of PAR10 per instance, against that one; below 0: lost"),
    solvers=([AlgorithmEstimate], "The lowest estimate first"),
)
EstimateResponse = model(
    "EstimateResponse",
    "The latest estimate; null: there is none yet.",
    last_event=(int | None, "The last event it includes"),
    estimate=RunEstimateValues | None,
    under_way=(bool, "Whether a newer one is being computed"),
)
HistoryEvent = model("HistoryEvent", like=Event, kind=str)
PastDecision = model("PastDecision", base=DecisionResponse, at=float, outcome=KnownOutcome | None)
PendingDecision = model("PendingDecision", like=Waiting, race=None, id=int)
SurvivalPoint = model("SurvivalPoint", like=SurvivalStep)
BeliefResponse = model("BeliefResponse", like=AlgorithmBelief)
EffectResponse = model("EffectResponse", like=FeatureEffect, value=float | None, effect=float | None)
ExplanationResponse = model(
    "ExplanationResponse",
    "Why a decision was made, or would be.",
    like=Explanation,
    decision=(int | None, "null where nothing was decided"),
    algorithms=[BeliefResponse],
    features=[EffectResponse],
    text=(str, "The same as a table for people"),
)
SelectorInfo = model("SelectorInfo", name=str, summary=str, kind=str, hyperparameters=dict[str, Any])
