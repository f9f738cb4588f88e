"""Errors as responses: status, message and field, never a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tailcut.errors import (
    ConflictingOutcomeError,
    InputError,
    JournalError,
    MissingExtraError,
    NotExplainedError,
    OutOfTurnError,
    TailcutError,
    UnknownDecisionError,
)
from tailcut.journal.events import DamagedError
from tailcut.service.responses import ErrorResponse


class NoProjectError(TailcutError, LookupError):
    """There is no project of that name."""


class BusyError(TailcutError, RuntimeError):
    """Too many requests at the same time."""


class SetAsideError(TailcutError, RuntimeError):
    """A project is damaged, so it is not available; others are."""


class LimitError(TailcutError, ValueError):
    """A limit of the server is reached."""


_STATUS: tuple[tuple[type[TailcutError], int], ...] = (
    (NoProjectError, 404),
    (UnknownDecisionError, 404),
    (ConflictingOutcomeError, 409),
    (OutOfTurnError, 409),
    (NotExplainedError, 409),
    (LimitError, 409),
    (BusyError, 503),
    (SetAsideError, 503),
    (JournalError, 503),
    (InputError, 422),
    (MissingExtraError, 422),
)


def status_of(error: TailcutError) -> int:
    """Return the status of the response to an error.

    >>> status_of(JournalError("disk is full", full=True)), status_of(InputError("among is empty"))
    (507, 422)
    """
    if isinstance(error, JournalError) and error.full:
        return 507
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 422)


def message_of(error: TailcutError) -> str:
    """Return the message for a client, without details about the server's disk."""
    if isinstance(error, DamagedError):
        return f"the project is damaged and set aside: {error.reason}"
    if not isinstance(error, JournalError):
        return str(error)
    if error.full:
        return "the server's disk is full: nothing was changed; free some room and try again"
    return "the server cannot write its state at the moment: nothing was changed; try again"


def field_of(error: TailcutError) -> str:
    """Return the field that an error is about.

    >>> field_of(InputError("expected 3 features, got 2", field="features"))
    'features'
    """
    return (error.field if isinstance(error, InputError) else None) or "body"


def error_response(
    status: int,
    message: str,
    errors: Sequence[tuple[str, str]] = (),
    *,
    request_id: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return an error response."""
    fields = [{"field": field, "message": text} for field, text in errors]
    content = {"status": status, "message": message, "errors": fields, "id": request_id}
    return Response(to_json(content), status, headers, "application/json")


def of_error(error: TailcutError) -> Response:
    """Return the response to one of Tailcut's errors."""
    status, message = status_of(error), message_of(error)
    errors = [(field_of(error), message)] if status == 422 else []
    return error_response(status, message, errors, headers={"Retry-After": "1"} if status == 503 else None)


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


def item_error(error: TailcutError) -> dict[str, Any]:
    """Return the error of one item of a batch."""
    status, message = status_of(error), message_of(error)
    return {"status": status, "message": message, "field": field_of(error) if status == 422 else None}


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
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text} for status, text in _MEANINGS.items()
}
"""Error responses common to all routes, for the OpenAPI document."""
