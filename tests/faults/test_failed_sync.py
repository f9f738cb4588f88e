"""A write whose sync fails may be on disk or not: the answer says so, and the same key settles it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailcut.journal import Journal, Project
from tailcut.service.client import Client
from tests.faults.shim import Shim
from tests.service.running import Running, ServerProcess
from tests.service.test_connections import Apart

BODY = b'{"features": [1.0], "instance": "i", "key": "k"}'
SELECT = "/v1/projects/p/select"


def answer_of(server: ServerProcess, token: str) -> tuple[int, Any]:
    import json

    status, body = Apart(server, token, 0).call("POST", SELECT, BODY)
    return status, json.loads(body)


@pytest.mark.parametrize("killed", [False, True])
def test_the_same_key_gives_what_was_decided(tmp_path: Path, killed: bool) -> None:
    state = tmp_path / "state.db"
    shim = Shim(tmp_path, state)
    with ServerProcess(state, environment=shim.environment) as server:
        token = server.token()
        with Client(server.address, token) as client:
            client.create_project("p", algorithms=["a", "b"], cutoff=60.0).select([0.5])
        shim.fail(1, calls="s")
        status, content = answer_of(server, token)
        assert status == 503
        assert "it is unknown whether" in content["message"]
        assert "repeat it with the same key" in content["message"]
        if not killed:
            status, decision = answer_of(server, token)
            assert (status, decision["repeated"]) == (200, False)
        server.process.kill()
        server.process.wait()
    with Journal(state) as journal:
        project = Project(journal, "p")
        kept = [event.body["decision"] for event in project.history() if event.key == "k"]
        assert project.verify() == 2
    assert len(kept) == 1  # it was written, though its sync had failed
    with ServerProcess(state) as server:
        status, again = answer_of(server, token)
        assert (status, again) == (200, {**kept[0], "repeated": True})
    if not killed:
        assert again == {**decision, "repeated": True}


def test_a_project_whose_creation_was_not_certain_is_there_if_it_was_written(tmp_path: Path) -> None:
    log, aside = tmp_path / "state.db-wal", tmp_path / "aside"
    body = {"name": "q", "algorithms": ["a", "b"], "cutoff": 60.0}
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        log.rename(aside)
        answer = running.call("POST", "/v1/projects", body)
        assert (answer.status, "it is unknown whether" in answer.json["message"]) == (503, True)
        aside.rename(log)
        assert running.call("POST", "/v1/projects", body).status == 200  # it is the same one
        assert running.call("POST", "/v1/projects/q/select", {"features": [1.0]}).status == 200
        log.rename(aside)
        assert running.call("DELETE", "/v1/projects/q").status == 503
        aside.rename(log)
        assert running.call("GET", "/v1/projects/q").status == 404
        assert running.call("DELETE", "/v1/projects/q").json == {"removed": False}
        assert running.call("POST", "/v1/projects", body).status == 201
