"""What may go wrong on the way to a service: always a ServiceError, sent again where that is safe."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tailcut.errors import InputError, ServiceError
from tailcut.service.client import Client
from tests.service.running import Running


@contextmanager
def speaking(*responses: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these responses, one for each connection; and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for response in responses:
                connection, _ = listener.accept()
                with connection:
                    asked.append(connection.recv(1 << 16))
                    connection.sendall(response)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", asked
        thread.join(10)


def http(status: str, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    return head.encode() + body


GOOD = http("200 OK", b'{"status": "ok"}')


def test_a_name_that_is_not_found_is_a_service_error() -> None:
    with Client("http://nowhere.invalid:1", "t", retries=1) as client:
        with pytest.raises(ServiceError, match="does not answer"):
            client.call("GET", "/health")
        assert not client.healthy()
    with Client(f"http://{'x' * 70}.invalid", "t", retries=0) as client, pytest.raises(ServiceError):
        client.call("GET", "/health")


def test_tls_that_is_none_is_a_service_error() -> None:
    with (
        speaking(GOOD, GOOD) as (address, _),
        Client(f"https://{address}", "t", retries=1) as client,
        pytest.raises(ServiceError, match="does not answer"),
    ):
        client.call("GET", "/health")


def test_redirections_are_not_followed() -> None:
    away = http("302 Found", b"", "Location: http://evil.invalid/\r\n")
    with speaking(away) as (address, asked), Client(f"http://{address}", "t") as client:
        with pytest.raises(ServiceError, match="redirection") as caught:
            client.call("GET", "/health")
        assert (caught.value.status, len(asked)) == (302, 1)


@pytest.mark.parametrize(
    "first", [http("200 OK", b"<html>soon</html>"), http("200 OK", b"{")[:-1], b"", b"no"]
)
def test_what_is_no_json_is_asked_again(first: bytes) -> None:
    with speaking(first, GOOD) as (address, asked), Client(f"http://{address}", "t") as client:
        assert client.call("GET", "/health") == {"status": "ok"}
        assert len(asked) == 2
    with (
        speaking(first) as (address, _),
        Client(f"http://{address}", "t", retries=0) as client,
        pytest.raises(ServiceError),
    ):
        client.call("GET", "/health")


def test_an_address_that_is_none() -> None:
    with pytest.raises(InputError, match="address"):
        Client("http://127.0.0.1:port", "t")


def test_explanations_of_schedules_are_whole(running: Running) -> None:
    """An infinite bound is null in JSON; it must come back as infinite, and the rest with it."""
    with running.client() as client:
        project = client.create_project(
            "s", algorithms=["a", "b"], cutoff=60.0, selector="tailcut_schedule", feature_names=["x"]
        )
        for number in range(6):
            decision = project.select([float(number)])
            project.observe(decision, censored_at=decision.budget)
        decision = project.select([1.0])
        there = running.context.writer.projects["s"].explain(decision.id)
        here = project.explain(decision)
        assert here.text() == there.text()
        assert here.algorithms == there.algorithms
        assert any(one.high == math.inf for one in here.algorithms)
