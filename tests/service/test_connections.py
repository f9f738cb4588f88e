"""What clients may send and how long they may take: limits count work, not sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tailcut.service.client import Client
from tailcut.service.guard import HEADER_BYTES
from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running, ServerProcess

LITTLE = 200
"""MB by which the server may grow, all tests of this file together."""
START = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"


class Apart(NamedTuple):
    """A server in a process of its own."""

    process: ServerProcess
    token: str
    before: int
    """Its memory at first, in MB."""

    def growth(self) -> int:
        return self.process.peak_memory() - self.before

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.process.host, self.process.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()


@contextlib.contextmanager
def connected(running: Running, count: int = 1) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection((running.host, running.port), timeout=30))
            for _ in range(count)
        ]


def everything(one: socket.socket) -> bytes:
    """Return what the server sends until it closes."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := one.recv(1 << 16):
            received += piece
    return received


def ours(response: bytes, status: int) -> None:
    """Check that a refusal has the shape and the headers of all others."""
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert b"x-content-type-options: nosniff" in head
    assert json.loads(body)["status"] == status


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    """A server in a process of its own whose memory can be looked at; its project has served once."""
    with ServerProcess(tmp_path_factory.mktemp("apart") / "state.db") as process:
        token = process.token()
        with Client(process.address, token) as client:
            client.create_project("p", algorithms=["a", "b", "c"], cutoff=60.0).select([1.0])
        yield Apart(process, token, process.peak_memory())


@pytest.mark.parametrize(
    "piece", [b"x-filler: " + b"a" * 1000 + b"\r\n", b"a" * 1000], ids=["many headers", "one long header"]
)
def test_headers_are_limited_before_anyone_is_known(apart: Apart, piece: bytes) -> None:
    address = (apart.process.host, apart.process.port)
    with socket.create_connection(address, timeout=30) as one:
        one.sendall(START + (b"x: " if b":" not in piece else b""))
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 300_000_000:
                one.sendall(piece)
                sent += len(piece)
    assert sent < 10_000_000  # it hung up long before
    assert apart.growth() < LITTLE


def test_too_many_headers_are_refused_in_our_shape(running: Running) -> None:
    with connected(running) as (one,):
        one.sendall(START + b"x: " + b"a" * HEADER_BYTES)
        ours(everything(one), 431)


def test_headers_up_to_the_limit_pass(running: Running) -> None:
    with connected(running) as (one,):
        filler = b"x: " + b"a" * (HEADER_BYTES - 1000) + b"\r\n"
        one.sendall(START + filler + b"Connection: close\r\n\r\n")
        assert everything(one).startswith(b"HTTP/1.1 200")


def test_what_is_not_http_is_refused_in_our_shape(running: Running) -> None:
    with connected(running) as (one,):
        one.sendall(b"\x16\x03\x01 this is no request\r\n\r\n")
        ours(everything(one), 400)


def test_headers_and_bodies_that_do_not_arrive_are_given_up(tmp_path: Path) -> None:
    limits = ServiceLimits(header_seconds=0.5, body_seconds=0.5)
    with Running(tmp_path / "state.db", limits) as running, connected(running, 3) as (silent, head, body):
        head.sendall(START)
        authorization = f"Authorization: Bearer {running.token}\r\n".encode()
        start = b"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\n" + authorization
        body.sendall(start + b"Content-Length: 100\r\n\r\n{")
        assert everything(silent) == b""
        ours(everything(head), 408)
        ours(everything(body), 408)
        assert running.call("GET", "/v1/health").status == 200


def test_idle_and_silent_connections_keep_nobody_out(running: Running) -> None:
    """More than any limit on work; half have been served once, half never said a word."""
    running.create("p")
    with connected(running, 1500) as many:
        for one in many[::2]:
            one.sendall(START + b"\r\n")
        for one in many[::2]:
            assert one.recv(12) == b"HTTP/1.1 200"
        for _ in range(20):
            assert running.call("POST", "/v1/projects/p/select", {"features": [1.0]}).status == 200


def test_beyond_the_limit_the_one_idle_longest_goes(tmp_path: Path) -> None:
    limits = ServiceLimits(connections=20)
    with Running(tmp_path / "state.db", limits) as running, connected(running, 40) as many:
        assert everything(many[0]) == b""
        assert running.call("GET", "/v1/health").status == 200
        many[-1].sendall(START + b"\r\n")
        assert many[-1].recv(12) == b"HTTP/1.1 200"


def test_many_clients_at_once_lose_nothing(running: Running) -> None:
    running.create("p")
    statuses: list[int] = []

    def work() -> None:
        many = [http.client.HTTPConnection(running.host, running.port, timeout=60) for _ in range(10)]
        headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
        for _ in range(3):
            for one in many:
                one.request("POST", "/v1/projects/p/select", b'{"features": [1.0]}', headers)
            for one in many:
                response = one.getresponse()
                response.read()
                statuses.append(response.status)
        for one in many:
            one.close()

    threads = [threading.Thread(target=work) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 1500


def test_bodies_under_way_are_limited_by_their_bytes(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(bytes_under_way=100_000)) as running:
        answer = running.call("POST", "/v1/projects", b" " * 200_000)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert running.call("GET", "/v1/health").status == 200
        running.create("p")


def wrong(kind: str) -> tuple[str, bytes]:
    """Return a route and a body of 16 MB, more or less, in which everything is wrong."""
    if kind == "honest mistake":  # a thousand vectors of a hundred numbers, written as text: 0.8 MB
        vector = [f"{number}.5" for number in range(100)]
        return "select/batch", json.dumps({"requests": [{"features": vector}] * 1000}).encode()
    if kind == "strings":
        return "fit", _fit('"1.5"')
    if kind == "batch of strings":
        one = b'{"features": [' + b",".join([b'"x"'] * 4000) + b"]}"
        return "select/batch", b'{"requests": [' + b",".join([one] * 1000) + b"]}"
    if kind == "batch of unknown fields":
        one = b"{" + b",".join(b'"%d":1' % number for number in range(1900)) + b"}"
        return "select/batch", b'{"requests": [' + b",".join([one] * 1000) + b"]}"
    if kind == "vector":
        return "select", b'{"features": [' + b",".join([b'"x"'] * 3_900_000) + b"]}"
    if kind == "names":
        names = b",".join(b'"n%d":"x"' % number for number in range(1_000_000))
        return "select", b'{"features": {' + names + b"}}"
    if kind == "unknown fields":
        return "select", b"{" + b",".join(b'"n%d":1' % number for number in range(1_200_000)) + b"}"
    if kind == "batch":
        return "select/batch", b'{"requests": [' + b",".join([b"1"] * 8_000_000) + b"]}"
    return "select/batch", b'{"requests": ' + b"[" * 8_000_000 + b"]" * 8_000_000 + b"}"


def _fit(value: str) -> bytes:
    row = "[" + ",".join([value] * 100) + "]"
    rows = "[" + ",".join([row] * 10_000) + "]"
    return f'{{"algorithms": ["a"], "cutoff": 60, "features": {rows}, "runtimes": {rows}}}'.encode()


@pytest.mark.parametrize(
    "kind",
    [
        "honest mistake",
        "strings",
        "batch of strings",
        "batch of unknown fields",
        "vector",
        "names",
        "unknown fields",
        "batch",
        "nested",
    ],
)
def test_a_large_body_of_wrong_values_is_refused_at_little_cost(apart: Apart, kind: str) -> None:
    """The server may hold the body a few times, never all its errors; others are served meanwhile."""
    route, content = wrong(kind)
    assert kind == "honest mistake" or 10_000_000 < len(content) <= 16 * 1024 * 1024
    delays: list[float] = []
    health: list[int] = []
    done = threading.Event()

    def others() -> None:
        while not done.is_set():
            before = time.monotonic()
            health.append(apart.call("GET", "/v1/health")[0])
            delays.append(time.monotonic() - before)

    waited = apart.process.waited_for_a_processor()
    other = threading.Thread(target=others)
    other.start()
    status, answer = apart.call("POST", f"/v1/projects/p/{route}", content)
    done.set()
    other.join()
    assert status in (413, 422), answer[:500]
    assert len(answer) < 20_000
    assert apart.growth() < LITTLE
    assert set(health) == {200}
    assert max(delays) < 1.0 + apart.process.waited_for_a_processor() - waited


def test_many_large_bodies_that_are_not_json_are_freed_one_by_one(apart: Apart) -> None:
    content = b'{"features": [' + b" " * 15_000_000
    for _ in range(30):
        assert apart.call("POST", "/v1/projects/p/select", content)[0] == 422
    assert apart.growth() < LITTLE
