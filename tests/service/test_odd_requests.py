"""Requests that are legal but unusual pass; those that two readers could understand differently do not."""

from __future__ import annotations

import re

import pytest

from tailcut.service.guard import HEADER_BYTES
from tests.service.running import Running
from tests.service.test_connections import START, connected, everything, ours


@pytest.mark.parametrize("size", [1 << 30, 50_000, 1_000])
def test_many_small_requests_in_one_go_are_all_answered(running: Running, size: int) -> None:
    one_request = START + b"x: " + b"a" * 500 + b"\r\n\r\n"
    count = 4 * HEADER_BYTES // len(one_request)
    sent = one_request * (count - 1) + START + b"Connection: close\r\n\r\n"
    with connected(running) as (one,):
        for begin in range(0, len(sent), size):
            one.sendall(sent[begin : begin + size])
        received = everything(one)
    assert re.findall(rb"HTTP/1.1 (\d+) ", received) == [b"200"] * count


def test_large_headers_behind_other_requests_are_refused(running: Running) -> None:
    with connected(running) as (one,):
        one.sendall((START + b"\r\n") * 3 + START + b"x: " + b"a" * 4 * HEADER_BYTES + b"\r\n\r\n")
        received = everything(one)
        assert re.findall(rb"HTTP/1.1 (\d+) ", received) == [b"200", b"200", b"200", b"431"]
        ours(received[received.index(b"HTTP/1.1 431") :], 431)


@pytest.mark.parametrize("hosts", [(b"localhost", b"evil.example"), (b"evil.example", b"localhost")])
def test_exactly_one_host(running: Running, hosts: tuple[bytes, ...]) -> None:
    lines = b"".join(b"Host: %b\r\n" % host for host in hosts)
    with connected(running) as (one,):
        one.sendall(b"GET /v1/health HTTP/1.1\r\n" + lines + b"Connection: close\r\n\r\n")
        ours(everything(one), 400)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"features": [1.0], "features": [2.0]}', "features"),
        (b'{"features": {"x": 1.0, "y": 0, "x": 2.0}}', "x"),
        (b'{"features": [1.0], "key": "a", "k\\u0065y": "b"}', "key"),
    ],
)
def test_a_field_given_twice_is_refused(running: Running, body: bytes, name: str) -> None:
    path = running.create()
    answer = running.call("POST", f"{path}/select", body)
    assert (answer.status, f"{name!r} is given twice" in answer.json["message"]) == (422, True), answer.body
    assert running.call("GET", path).json["decisions"] == 0
