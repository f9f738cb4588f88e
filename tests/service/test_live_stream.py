"""The live stream: statistics at once, again when something changed, and an end when the server goes."""

from __future__ import annotations

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running


class Stream:
    """Reads server-sent events as they come."""

    def __init__(self, running: Running, project: str = "p", token: str | None = None) -> None:
        self.connection = http.client.HTTPConnection(running.host, running.port, timeout=30)
        headers = {"Authorization": f"Bearer {token or running.read_token}"}
        self.connection.request("GET", f"/v1/projects/{project}/live", headers=headers)
        self.response = self.connection.getresponse()

    def next(self) -> tuple[str, Any]:
        """Return the kind and content of the next event."""
        kind, data = "", ""
        while True:
            read = self.response.readline()
            if not read:
                raise EOFError("the stream has ended")
            line = read.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line and kind:
                return kind, json.loads(data)

    def close(self) -> None:
        self.response.close()
        self.connection.close()


def test_changes_are_pushed(running: Running) -> None:
    path = running.create("p")
    stream = Stream(running)
    assert stream.response.status == 200
    assert stream.response.getheader("content-type", "").startswith("text/event-stream")
    assert stream.next()[1]["decisions"] == 0
    for _ in range(3):
        running.call("POST", f"{path}/select", {"features": [1.0]})
    seen = 0
    while seen < 3:
        kind, content = stream.next()
        assert kind == "statistics"
        assert content["decisions"] >= seen
        seen = content["decisions"]
    assert content.keys() == running.call("GET", f"{path}/statistics").json.keys()
    stream.close()


def test_it_is_not_pushed_more_often_than_twice_a_second(running: Running) -> None:
    path = running.create("p")
    stream = Stream(running)
    stream.next()
    stop = time.monotonic() + 1.6

    def work() -> None:
        while time.monotonic() < stop:
            running.call("POST", f"{path}/select", {"features": [1.0]})

    worker = threading.Thread(target=work)
    worker.start()
    count = 0
    while time.monotonic() < stop:
        stream.next()
        count += 1
    worker.join()
    assert 1 <= count <= 5
    stream.close()


def test_streams_end_with_the_server(tmp_path: Path) -> None:
    running = Running(tmp_path / "state.db")
    running.create("p")
    stream = Stream(running)
    stream.next()
    running.stop()
    assert stream.next()[0] == "end"
    assert stream.response.read() == b""
    stream.close()


def test_streams_are_limited_and_counted_down(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(streams=1)) as running:
        running.create("p")
        first = Stream(running)
        first.next()
        second = Stream(running)
        assert second.response.status == 503
        second.close()
        first.close()
        deadline = time.monotonic() + 20
        while running.context.streams and time.monotonic() < deadline:
            time.sleep(0.1)
        third = Stream(running)
        assert third.response.status == 200
        third.close()


@pytest.mark.parametrize("name", ["nobody", "%00"])
def test_there_is_none_without_a_project(running: Running, name: str) -> None:
    assert running.call("GET", f"/v1/projects/{name}/live").status == 404
