"""The short way of a step gives the same answers as FastAPI's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailcut.service import service_limits as limits
from tailcut.service import steps
from tailcut.service.step_dispatch import StepDispatch, steps_among
from tests.service.running import Answer, Running
from tests.service.test_fuzz import bodies

LONG = {"Content-Type": "application/json; charset=utf-8"}
"""A header that means the same and is not the usual one, so that FastAPI answers."""


def ordinary(path: str = "/v1/projects/p/observe", **more: Any) -> dict[str, Any]:
    """Return the scope of a request that takes the short way."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"40")]
    return {"type": "http", "method": "POST", "path": path, "headers": headers, "app": FastAPI(), **more}


def went_on(scope: dict[str, Any], *pieces: bytes) -> bytes | None:
    """Return the body that FastAPI gets of a request; None if it does not get the request."""
    waiting, got = list(pieces), list[bytes]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def passed(_: Any, receive: Any, __: Any) -> None:
        message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            got.append(message["body"])

    async def send(_: Any) -> None:
        pass

    async def dispatch() -> None:
        scope["app"].state.context = None  # the endpoint fails when it needs it
        await StepDispatch(passed, steps.router.routes)(scope, receive, send)

    try:
        asyncio.run(dispatch())
    except AttributeError:
        return None
    return b"".join(got)


VALID = b'{"decision": 0, "runtime": 1.5}'


def test_only_valid_requests_for_steps_take_the_short_way() -> None:
    assert went_on(ordinary(), VALID) is None
    assert went_on(ordinary(), VALID[:9], VALID[9:]) is None
    for wrong in (b"", b"{", b'{"decision": 0}', b'{"decision": 0, "runtime": NaN}', b"\xff"):
        assert went_on(ordinary(), wrong) == wrong
    for path in ("/v1/projects", "/v1/projects//observe", "/v1/projects/p/observe/", "/v1/projects/p/rest"):
        assert went_on(ordinary(path), VALID) == VALID
    assert went_on(ordinary(f"/v1/projects/{'p' * 65}/observe"), VALID) == VALID
    assert went_on(ordinary(method="PUT"), VALID) == VALID
    size = (b"content-length", str(limits.PARTS + 1).encode())
    for headers in ([], [size], [(b"content-type", b"application/json")]):
        assert went_on(ordinary(headers=headers), VALID) == VALID
    assert went_on(ordinary(headers=[(b"content-type", b"application/json"), size]), VALID) == VALID


def test_every_step_with_a_body_has_a_short_way() -> None:
    assert set(steps_among(steps.router.routes)) == {
        "select",
        "race",
        "select/batch",
        "observe",
        "observe/batch",
        "proceed",
        "fit",
    }


def test_a_body_that_is_refused_on_its_way_is_an_answer() -> None:
    sent = []

    async def refused() -> Any:
        raise HTTPException(503, "too many requests", headers={"Retry-After": "1"})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(StepDispatch(None, steps.router.routes)(ordinary(), refused, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["message"] == "too many requests"


@pytest.fixture(scope="module")
def twins(shared: Running) -> Running:
    """A server with two projects that are alike, for each of three selectors."""
    for selector in ("thompson_rev", "tailcut", "round_robin"):
        for way in ("short", "long"):
            shared.create(f"{selector}-{way}", selector)
    return shared


def same(answers: list[Answer]) -> bool:
    """Return whether two answers are the same; random ids of requests aside."""
    short, long = ({k: v for k, v in one.headers.items() if k != "x-request-id"} for one in answers)
    return answers[0].status == answers[1].status and short == long and answers[0].body == answers[1].body


sent_to_steps = bodies.filter(lambda sent: sent[0][1:] in steps_among(steps.router.routes))


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(selector=st.sampled_from(["thompson_rev", "tailcut", "round_robin"]), sent=sent_to_steps)
def test_both_ways_give_the_same_answers(twins: Running, selector: str, sent: tuple[str, Any]) -> None:
    path, body = sent
    content = json.dumps(body).encode()
    answers = [
        twins.call("POST", f"/v1/projects/{selector}-{way}{path}", content, headers=headers)
        for way, headers in (("short", {}), ("long", LONG))
    ]
    assert same(answers), answers


def test_requests_are_counted_by_their_routes(running: Running) -> None:
    path = running.create()
    running.call("POST", f"{path}/select", {"features": [1.0]})
    running.call("POST", f"{path}/select", {"features": [1.0]}, headers=LONG)
    running.call("POST", "/v1/projects/nobody/select", {"features": [1.0]})
    lines = running.call("GET", "/v1/metrics").body.decode().splitlines()
    route = 'tailcut_http_requests_total{method="POST",route="/v1/projects/{project}/select"'
    assert f'{route},status="200"}} 2.0' in lines
    assert f'{route},status="404"}} 1.0' in lines
