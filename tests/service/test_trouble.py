"""When something is wrong with the file, a project or a token: who is told, and who is not concerned."""

from __future__ import annotations

import contextlib
import json
import os
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
from tailcut.service.client import Client, RemoteProject
from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running, ServerProcess
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
    ("selector", "name", "value"),
    [
        ("tailcut", "trees", 1e100),
        ("degroote_ucb_rf", "trees", 1e100),
        ("degroote_epsilon_greedy_rf", "trees", 10**9),
        ("tailcut_schedule", "penalty", 0),
        ("thompson_rev", "penalty", -1.0),
    ],
)
def test_absurd_hyperparameters_are_refused(shared: Running, selector: str, name: str, value: float) -> None:
    """For a selector that has it: the bounds stand where it is declared."""
    body = {"name": "absurd", "algorithms": ["a", "b"], "cutoff": 60.0, "selector": selector}
    answer = shared.call("POST", "/v1/projects", {**body, "hyperparameters": {name: value}})
    assert answer.status == 422, answer.body
    assert f"{name} must be" in answer.json["message"]
    assert shared.call("GET", "/v1/projects/absurd").status == 404


STUCK = """
import time
from dataclasses import replace

from tailcut import CATALOGUE
from tailcut.schedules import RoundRobin


class Stuck(RoundRobin):
    def choose(self, features, offered, progress):
        while 13.0 in features:
            time.sleep(1.0)
        return super().choose(features, offered, progress)


ROW = replace(CATALOGUE["round_robin"], name="stuck", summary="Never decides if there is a 13", policy=Stuck)
"""


@pytest.fixture
def stuck_selector(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a server in which a package offers a selector that never decides."""
    installed = tmp_path / "site"
    (installed / "stuck-1.0.dist-info").mkdir(parents=True)
    (installed / "stuck-1.0.dist-info" / "METADATA").write_text("Name: stuck\nVersion: 1.0\n")
    entry = "[tailcut.selectors]\nstuck = stuck_rows:ROW\n"
    (installed / "stuck-1.0.dist-info" / "entry_points.txt").write_text(entry)
    (installed / "stuck_rows.py").write_text(STUCK)
    return {"PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])}


def test_health_goes_by_the_age_of_the_queue_and_the_end_is_bounded(
    tmp_path: Path, stuck_selector: dict[str, str]
) -> None:
    """A selector that never decides holds up everyone; health says so, and SIGTERM still ends it."""
    state = tmp_path / "state.db"
    limits = ServiceLimits(stuck_seconds=1.5, grace_seconds=1, stop_seconds=1.0)
    with ServerProcess(state, environment=stuck_selector, limits=limits) as server:
        client = Client(server.address, server.token(), retries=0, timeout=100)
        client.create_project("fine", algorithms=["a", "b"], cutoff=60.0).select([1.0])
        project = client.create_project("p", algorithms=["a", "b"], cutoff=60.0, selector="stuck")
        project.select([1.0])
        asked = time.monotonic()
        waiting = threading.Thread(target=_ignore_errors, args=(project,))
        waiting.start()
        while client.healthy() and time.monotonic() - asked < 45:
            time.sleep(0.1)
        assert 1.4 < time.monotonic() - asked < 10
        stopped = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - stopped < 10
        waiting.join()
        client.close()
    usual = ServiceLimits()
    assert (usual.stuck_seconds, usual.grace_seconds + usual.stop_seconds) == (30, 25)
    with Journal(state, read_only=True) as journal:  # what was given up never happened
        assert [len(list(journal.events(number))) for number in (1, 2)] == [1, 1]


def _ignore_errors(project: RemoteProject) -> None:
    with contextlib.suppress(ServiceError):
        project.select([13.0])


def _many_streams(running: Running, token: str, count: int) -> list[socket.socket]:
    """Ask for streams at once: all are asked for before the first is looked at."""
    head = f"GET /v1/projects/p/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    many = [socket.create_connection((running.host, running.port), timeout=30) for _ in range(count)]
    for one in many:
        one.sendall(head.encode())
    return many


def _until_the_end(stream: socket.socket) -> float:
    """Read until a stream has ended, and return when that was."""
    received = b""
    while not received.endswith(b"0\r\n\r\n") and (piece := stream.recv(1 << 16)):
        received += piece
    return time.monotonic()


def test_a_revoked_token_ends_its_streams_within_a_second(running: Running) -> None:
    running.create("p")
    token = Tokens(running.path).create("guest", ["read"])
    deadline = time.monotonic() + 5.0
    while running.call("GET", "/v1/projects", token=token).status == 401 and time.monotonic() < deadline:
        time.sleep(0.1)  # a new token is known at once, but not at the same moment
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(one) for one in _many_streams(running, token, 32)]
        assert {one.recv(12) for one in many} == {b"HTTP/1.1 200"}
        other = stack.enter_context(contextlib.closing(Stream(running)))
        assert other.response.status == 503
        Tokens(running.path).revoke("guest")
        before = time.monotonic()
        assert max(_until_the_end(one) for one in many) - before < 1.0
    another = Stream(running)  # of those who may still read
    assert another.next()[0] == "statistics"
    another.close()


def test_the_limit_of_streams_holds_under_many_at_once(running: Running) -> None:
    running.create("p")
    many = _many_streams(running, running.token, 200)
    statuses = [one.recv(12) for one in many]
    assert statuses.count(b"HTTP/1.1 200") == 32
    assert statuses.count(b"HTTP/1.1 503") == 168
    assert running.context.streams == 32
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
    assert statistics["instances"] == 1
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
