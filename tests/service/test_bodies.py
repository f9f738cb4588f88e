"""How a request's body is read: by its content type, whole or in pieces; and what is said of a wrong one."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running

STEPS = ("select", "race", "select/batch", "observe", "observe/batch", "proceed", "fit")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("application/json", None),
        ("Application/JSON; charset=utf-8", None),
        ("application/vnd.farm+json", None),
        ("text/plain", "body: Input should be a valid dictionary or object to extract fields from"),
    ],
)
def test_a_body_is_json_if_it_says_so(shared: Running, kind: str, message: str | None) -> None:
    shared.call("DELETE", "/v1/projects/p")
    answer = shared.call(
        "POST", f"{shared.create()}/select", {"features": [1.0]}, headers={"Content-Type": kind}
    )
    assert (answer.status, answer.json.get("message")) == ((200, None) if message is None else (422, message))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body: Field required"),
        (b"{", "body: this is not JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "body: this is not JSON: expected value at line 1 column 1"),
        (b"[]", "body: Input should be a valid dictionary or object to extract fields from"),
        (b'{"surprise": NaN}', "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_body_is_described(shared: Running, step: str, body: bytes, message: str) -> None:
    answer = shared.call("POST", f"/v1/projects/p/{step}", body)
    assert answer.status == 422
    assert message in answer.json["message"] or message in [one["message"] for one in answer.json["errors"]]


def test_the_field_that_is_not_finite_is_named(shared: Running) -> None:
    answer = shared.call("POST", "/v1/projects/p/observe", b'{"decision": 0, "runtime": NaN}')
    assert answer.json["message"] == "runtime: Input should be a finite number"


def test_a_name_no_project_can_have_is_refused(shared: Running) -> None:
    answer = shared.call("POST", f"/v1/projects/{'p' * 201}/observe", {"decision": 0, "runtime": 1.5})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "project")
    assert (
        shared.call("POST", f"/v1/projects/{'p' * 200}/observe", {"decision": 0, "runtime": 1.5}).status
        == 404
    )


def test_a_body_may_come_in_pieces_and_be_refused_on_its_way(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(bytes_under_way=10_000)) as running:
        path = running.create()
        headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
        for filler, status in ((b"", 200), (b" " * 20_000, 503)):
            connection = http.client.HTTPConnection(running.host, running.port, timeout=30)
            pieces = iter([b'{"features"', filler, b": [1.0]}"] if filler else [b'{"features"', b": [1.0]}"])
            connection.request("POST", f"{path}/select", pieces, headers, encode_chunked=True)
            response = connection.getresponse()
            assert response.status == status
            assert response.headers["Retry-After"] == ("1" if status == 503 else None)
            connection.close()


def test_requests_are_counted_by_their_routes(running: Running) -> None:
    path = running.create()
    running.call("POST", f"{path}/select", {"features": [1.0]})
    running.call("POST", f"{path}/select", {"features": [2.0]})
    running.call("POST", "/v1/projects/nobody/select", {"features": [1.0]})
    lines = running.call("GET", "/v1/metrics").body.decode().splitlines()
    route = 'tailcut_http_requests_total{method="POST",route="/v1/projects/{project}/select"'
    assert f'{route},status="200"}} 2.0' in lines
    assert f'{route},status="404"}} 1.0' in lines
