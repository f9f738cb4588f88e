"""Who may do what: every route of the table, whether it was there when this was written or not."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from tailcut.journal import Journal, Tokens
from tailcut.service import guard
from tailcut.service.http_server import build
from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running

SCRIPTS = ("algorithms", "api", "app", "chart", "decisions", "dom")
MORE_SCRIPTS = ("explanation", "format", "live", "project", "projects", "scale")
FILES = ("style.css", "icon.svg", *(f"{name}.js" for name in SCRIPTS + MORE_SCRIPTS))
EVERYONE = {("GET", path) for path in ("/v1/health", "/", "/docs", *(f"/page/{name}" for name in FILES))}
"""Said here again on purpose: whoever opens another route has to open it twice."""


def routes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield methods and paths of all routes that the application has."""
    if not path.exists():
        Journal(path).close()
    waiting: list[Any] = list(build(path).routes)
    while waiting:
        route = waiting.pop()
        if isinstance(route, APIRoute | Route):
            for method in sorted(route.methods or ()):
                yield method, route.path.replace("{algorithm:path}", "a").format(project="p", decision=0)
        else:
            original = getattr(route, "original_router", None)
            inside = original.routes if original is not None else getattr(route, "routes", None)
            assert inside, f"{route!r}: what kind of route is this?"
            prefix = getattr(getattr(route, "include_context", None), "prefix", "")
            assert not prefix
            waiting += inside


def test_every_route_wants_a_token_with_the_right_scope(running: Running, tmp_path: Path) -> None:
    found = set(routes(tmp_path / "other.db"))
    assert len(found) >= 20
    assert {("POST", "/v1/projects/p/select"), ("GET", "/v1/openapi.json")} <= found
    running.create("p")
    write_only = Tokens(running.path).create("writer", ["write"])
    revoked = Tokens(running.path).create("gone", ["read", "write"])
    Tokens(running.path).revoke("gone")
    time.sleep(1.1)  # so long a server may go by what it knew
    for method, path in sorted(found):
        if (method, path) in EVERYONE:
            assert running.call(method, path, token=None).status < 400, (method, path)
            continue
        for nobody in (None, "nonsense", "ä", revoked, running.token[:-1], running.token + "x"):
            headers = {} if nobody != "ä" else {"Authorization": "Bearer \xe4"}
            token = None if nobody == "ä" else nobody
            answer = running.call(method, path, token=token, headers=headers)
            assert answer.status == 401, (method, path, nobody)
            assert answer.headers["www-authenticate"] == "Bearer"
        wrong = write_only if method in ("GET", "HEAD") else running.read_token
        assert running.call(method, path, token=wrong).status == 403, (method, path)
        if not path.endswith("/live"):
            right = running.read_token if method in ("GET", "HEAD") else write_only
            assert running.call(method, path, {}, token=right).status not in (401, 403, 500), (method, path)


def test_the_guard_opens_no_more_than_that() -> None:
    assert guard.OPEN == EVERYONE


def test_unknown_paths_and_methods_say_nothing_to_strangers(running: Running) -> None:
    assert running.call("GET", "/v1/nonsense", token=None).status == 401
    assert running.call("POST", "/v1/health", token=None).status == 401
    assert running.call("GET", "/v1/nonsense").status == 404
    assert running.call("POST", "/v1/health").status == 405
    assert running.call("PATCH", "/v1/projects").status == 405


def test_a_stranger_s_body_is_not_read(running: Running) -> None:
    answer = running.call("POST", "/v1/projects/p/select", b"{not json", token=None)
    assert answer.status == 401


@pytest.mark.parametrize("scheme", ["Basic", "bearer", "Token"])
def test_schemes(running: Running, scheme: str) -> None:
    answer = running.call(
        "GET", "/v1/projects", token=None, headers={"Authorization": f"{scheme} {running.token}"}
    )
    assert answer.status == (200 if scheme == "bearer" else 401)


def test_only_its_own_names_are_answered(running: Running) -> None:
    for host in ("127.0.0.1", f"localhost:{running.port}", "LOCALHOST:1", "[::1]:9000"):
        assert running.call("GET", "/v1/health", token=None, headers={"Host": host}).status == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:8765", "localhost.", ""):
        answer = running.call("GET", "/v1/projects", headers={"Host": host})
        assert answer.status in (400, 421), host
        assert b"projects" not in answer.body


def test_every_answer_carries_the_security_headers(running: Running) -> None:
    answers = [
        running.call("GET", "/v1/health", token=None),
        running.call("GET", "/docs", token=None),
        running.call("GET", "/v1/projects", token=None),
        running.call("GET", "/v1/nonsense"),
        running.call("POST", "/v1/projects", b"{"),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    assert running.call("OPTIONS", "/v1/projects", headers=preflight).status in (403, 405)


def test_bodies_are_limited_with_and_without_a_length(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(body_bytes=10_000)) as running:
        path = running.create("p")
        large = json.dumps({"features": [1.0], "instance": "x" * 20_000}).encode()
        answer = running.call("POST", f"{path}/select", large)
        assert (answer.status, "at most 10000 bytes" in answer.json["message"]) == (413, True)
        connection = http.client.HTTPConnection(running.host, running.port, timeout=30)
        headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
        pieces = iter([large[i : i + 4000] for i in range(0, len(large), 4000)])
        connection.request("POST", f"{path}/select", pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        small = iter([b'{"features"', b": [1.0]}"])
        connection.request("POST", f"{path}/select", small, headers, encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()


def test_a_fault_of_ours_shows_an_id_and_no_traceback(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = running.create("p")
    running.call("POST", f"{path}/select", {"features": [1.0]})
    project = running.context.writer.projects["p"]
    before = project.selector.to_bytes()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the secret of line 42")

    with monkeypatch.context() as patch:
        patch.setattr(type(project.selector), "decide", broken)
        answer = running.call("POST", f"{path}/select", {"features": [1.0]})
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert b"Traceback" not in answer.body
    assert answer.json["id"] in caplog.text
    assert "the secret of line 42" in caplog.text
    assert running.token not in caplog.text
    assert project.selector.to_bytes() == before
    assert running.call("POST", f"{path}/select", {"features": [1.0]}).status == 200
