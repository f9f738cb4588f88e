"""When something is wrong with the file, a project or a token: who is told, and who is not concerned."""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tailcut.errors import InputError, ServiceError
from tailcut.journal import Journal, Tokens
from tailcut.service import http_server, journal_writer
from tailcut.service.client import Client
from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running
from tests.service.test_live_stream import Stream

SELECT = {"features": [1.0, 2.0]}


@pytest.mark.parametrize("part", ["", "-wal"])
def test_nothing_is_acknowledged_into_a_deleted_file(tmp_path: Path, part: str) -> None:
    path, aside = tmp_path / f"state.db{part}", tmp_path / "aside"
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        assert running.call("POST", "/v1/projects/p/select", SELECT).status == 200
        path.rename(aside)
        for _ in range(2):
            assert running.call("POST", "/v1/projects/p/select", SELECT).status == 503
            health = running.call("GET", "/v1/health", token=None)
            assert (health.status, "removed or replaced" in health.json["message"]) == (503, True)
        aside.rename(path)
        assert running.call("POST", "/v1/projects/p/select", SELECT).status == 200
        assert running.call("GET", "/v1/health").status == 200


def test_a_second_server_through_a_link_is_refused(running: Running, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(running.path)
    command = [sys.executable, "-m", "tailcut.cli", "serve", "--port", "0", "--state", str(link)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (second.returncode, "another process is writing" in second.stderr) == (2, True)


def test_a_server_whose_file_was_taken_over_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Running(path) as first:
        first.create("p")
        (tmp_path / "state.db-lock").unlink()
        with Running(path) as second:
            assert second.call("POST", "/v1/projects/p/select", SELECT).json["id"] == 0
            assert first.call("POST", "/v1/projects/p/select", SELECT).status == 503
            assert first.call("GET", "/v1/health").status == 503
            assert second.call("POST", "/v1/projects/p/select", SELECT).json["id"] == 1


def test_a_damaged_event_concerns_its_project_only(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Running(path) as running:
        for name in ("p", "q"):
            running.create(name)
            assert running.call("POST", f"/v1/projects/{name}/select", SELECT).status == 200
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM snapshots")
        ((text,),) = db.execute("SELECT body FROM events WHERE number = 1").fetchall()
        body = json.loads(text)
        del body["decision"]
        db.execute("UPDATE events SET body = ? WHERE number = 1", (json.dumps(body),))
    db.close()
    with Running(path) as running:
        answer = running.call("POST", "/v1/projects/p/select", SELECT)
        assert answer.status == 503
        assert "event 1: decision is missing" in answer.json["message"]
        assert str(tmp_path) not in answer.body.decode()
        assert running.call("POST", "/v1/projects/q/select", SELECT).status == 200
        assert running.call("GET", "/v1/health").status == 200
        assert running.call("DELETE", "/v1/projects/p").json == {"removed": True}
        running.create("p")


def test_a_project_can_be_removed(running: Running) -> None:
    with running.client() as client:
        project = client.create_project("p", algorithms=["a", "b"], cutoff=60.0)
        project.select([1.0])
        assert client.remove_project("p")
        assert not client.remove_project("p")
        with pytest.raises(ServiceError, match="no project"):
            project.select([1.0])
        again = client.create_project("p", algorithms=["a", "b"], cutoff=60.0)
        assert again.select([1.0]).id == 0
    assert running.call("DELETE", "/v1/projects/p", token=running.read_token).status == 403


@pytest.mark.parametrize(
    "hyperparameters", [{"trees": 1e100}, {"trees": 10**9}, {"penalty": 0}, {"penalty": -1.0}]
)
def test_absurd_hyperparameters_are_refused(shared: Running, hyperparameters: dict[str, float]) -> None:
    body = {"name": "absurd", "algorithms": ["a", "b"], "cutoff": 60.0, "hyperparameters": hyperparameters}
    answer = shared.call("POST", "/v1/projects", body)
    assert answer.status == 422, answer.body
    assert shared.call("GET", "/v1/projects/absurd").status == 404


def test_health_goes_by_the_age_of_the_queue_and_the_end_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_writer, "STUCK", 0.5)
    monkeypatch.setattr(http_server, "GRACE", 1)
    gate = threading.Event()
    running = Running(tmp_path / "state.db")
    running.create("p")
    monkeypatch.setattr(running.context.writer.projects["p"], "decide", lambda *_, **__: gate.wait(60))
    stuck = threading.Thread(target=lambda: _ignore_errors(running))
    stuck.start()
    deadline = time.monotonic() + 20
    while running.call("GET", "/v1/health").status == 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "have waited" in running.call("GET", "/v1/health").json["message"]
    monkeypatch.setattr(running.context.writer, "stop_seconds", 1.0)
    before = time.monotonic()
    running.stop()
    assert time.monotonic() - before < 10
    gate.set()
    stuck.join()


def _ignore_errors(running: Running) -> None:
    with contextlib.suppress(OSError):
        running.call("POST", "/v1/projects/p/select", SELECT)


def test_a_revoked_token_ends_its_streams_within_a_second(running: Running) -> None:
    running.create("p")
    token = Tokens(running.path).create("guest", ["read"])
    stream, deadline = Stream(running, token=token), time.monotonic() + 5.0
    while stream.response.status == 401 and time.monotonic() < deadline:  # a new token is known in a second
        stream.close()
        time.sleep(0.1)
        stream = Stream(running, token=token)
    stream.next()
    Tokens(running.path).revoke("guest")
    before = time.monotonic()
    with contextlib.suppress(EOFError):  # whether or not the farewell arrives, it ends
        while stream.next()[0] != "end":
            assert time.monotonic() - before < 1.5
    assert stream.response.read() == b""
    assert time.monotonic() - before < 1.5
    stream.close()


def test_the_limit_of_streams_holds_under_many_at_once(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(streams=8)) as running:
        running.create("p")
        head = "GET /v1/projects/p/live HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Authorization: Bearer {running.token}\r\n\r\n"
        many = [socket.create_connection((running.host, running.port), timeout=30) for _ in range(200)]
        for one in many:
            one.sendall(head.encode())
        statuses = [one.recv(12) for one in many]
        assert statuses.count(b"HTTP/1.1 200") == 8
        assert statuses.count(b"HTTP/1.1 503") == 192
        for one in many:
            one.close()
        deadline = time.monotonic() + 20
        while running.context.streams and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running.context.streams == 0


def test_the_first_token_is_not_lost_when_the_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "tailcut.cli", "serve", "--state", str(tmp_path / "state.db")]
        command += ["--port", str(taken.getsockname()[1])]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert list(tmp_path.iterdir()) == []  # no file, so the next start makes the token


@pytest.mark.parametrize("token", ["tailcut_secret\n", "tailcut secret", "tailcut_ä", "tailcut_\x00"])
def test_a_token_that_cannot_be_sent_is_never_shown(token: str) -> None:
    with pytest.raises(InputError, match="token must be") as caught:
        Client("http://127.0.0.1:1", token)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_statistics_forget_removed_algorithms(running: Running) -> None:
    path = running.create("p")
    decision = running.call("POST", f"{path}/select", {**SELECT, "among": ["a"]}).json
    running.call("DELETE", f"{path}/algorithms/a")
    assert running.call("POST", f"{path}/observe", {"decision": decision["id"], "runtime": 1.0}).status == 200
    statistics = running.call("GET", f"{path}/statistics").json
    assert [one["name"] for one in statistics["algorithms"]] == ["b", "c"]
    assert (statistics["instances"], statistics["regret"]) == (1, None)
    with Journal(running.path, read_only=True) as journal:
        assert journal.last(1) == 3


def test_counters_are_exact_beyond_a_million(running: Running) -> None:
    running.create("p")
    running.context.writer.projects["p"].statistics.counts("a").chosen = 123_456_789
    text = running.call("GET", "/v1/metrics").body.decode()
    (line,) = [line for line in text.splitlines() if line.startswith("tailcut_decisions_total{")]
    assert float(line.split()[-1]) == 123_456_789


def test_a_failed_snapshot_fails_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(snapshot_every=3)) as running:
        running.create("p")
        project = running.context.writer.projects["p"]

        def fail() -> None:
            raise MemoryError

        monkeypatch.setattr(project, "snapshot", fail)
        statuses = [running.call("POST", "/v1/projects/p/select", SELECT).status for _ in range(10)]
        assert statuses == [200] * 10
        monkeypatch.undo()
    with Journal(tmp_path / "state.db", read_only=True) as journal:
        snapshot = journal.snapshot(1)
        assert snapshot is not None
        assert snapshot.event == 10


def test_what_may_wait_is_bounded_by_its_width(running: Running) -> None:
    path = running.create("p", max_pending=100_000)
    answer = running.call("POST", f"{path}/select", {"features": [1.0] * 1000})
    assert (answer.status, "max_pending" in answer.json["message"]) == (422, True)
