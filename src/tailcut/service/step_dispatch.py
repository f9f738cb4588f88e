"""The short way of a step: an ordinary request is answered without FastAPI.

Finding a route and filling in its arguments takes FastAPI several times as long as a decision takes. So a
request for a step with a valid JSON body of moderate size is read and checked here, by the same model, and
handed to the same function. Anything else goes to FastAPI, which then says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple, get_type_hints

import orjson
from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from tailcut.errors import TailcutError
from tailcut.service import service_limits as limits
from tailcut.service.error_responses import of_error, of_http
from tailcut.service.guard import App, Message, Receive, Send
from tailcut.service.request_bodies import Body

_PREFIX = "/v1/projects/"


class StepRoute(NamedTuple):
    """A route that decides or learns."""

    route: APIRoute
    body: type[Body]
    """What a request holds."""
    endpoint: Callable[[str, Any, Any], Awaitable[Response]]
    """The function for a project, a body and what routes share."""


def steps_among(routes: Iterable[Any]) -> dict[str, StepRoute]:
    """Return the routes of steps that have a body, by what follows the project's name."""
    found = {}
    for route in routes:
        types = get_type_hints(route.endpoint).values()
        body = next((one for one in types if isinstance(one, type) and issubclass(one, Body)), None)
        if body is not None:
            found[route.path.removeprefix(_PREFIX + "{project}/")] = StepRoute(route, body, route.endpoint)
    return found


class StepDispatch:
    """Answers ordinary requests for steps, and passes all others on."""

    def __init__(self, app: App, routes: Iterable[Any]) -> None:
        self.app, self._steps = app, steps_among(routes)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        project, step = self._find(scope)
        if step is None or not _is_ordinary(scope["headers"]):
            await self.app(scope, receive, send)
            return
        try:
            content = await _read(receive)
            given = _checked(step.body, content)
            if given is None:
                await self.app(scope, _once_more(content, receive), send)
                return
            scope["route"] = step.route
            response = await step.endpoint(project, given, scope["app"].state.context)
        except TailcutError as error:
            response = of_error(error)
        except HTTPException as error:
            response = of_http(error)
        await response(scope, receive, send)

    def _find(self, scope: MutableMapping[str, Any]) -> tuple[str, StepRoute | None]:
        """Return the project and the step that are asked for; None if it is something else."""
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(_PREFIX):
            return "", None
        project, _, step = scope["path"].removeprefix(_PREFIX).partition("/")
        return project, self._steps.get(step) if 0 < len(project) <= limits.NAME else None


def _is_ordinary(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether the body is JSON of a moderate size, which is known."""
    kind, size = b"", b""
    for name, value in headers:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            size = value
    return kind == b"application/json" and size.isdigit() and int(size) <= limits.PARTS


async def _read(receive: Receive) -> bytes:
    """Return the whole body."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def _checked(body: type[Body], content: bytes) -> Body | None:
    """Return what a request holds, None if something is wrong with it."""
    try:
        return body.model_validate(orjson.loads(content))
    except ValueError:  # not JSON, or not what is expected
        return None


def _once_more(content: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read already, and what comes after it."""
    given: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return again
