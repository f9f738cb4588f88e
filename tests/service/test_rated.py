"""Losses over HTTP: the service learns what a selector would, and keeps it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tailcut import Selector
from tailcut.types import Outcome
from tests.service.running import Running


def test_losses_over_http_are_losses(shared: Running) -> None:
    path = shared.create("rated", "tailcut", seed=5)
    local = Selector("tailcut", ["a", "b", "c"], 60.0, seed=5)
    lost = []
    for number in range(12):
        features = [float(number % 3), 2.0]
        answer = shared.call("POST", f"{path}/select", {"features": features}).json
        decision = local.select(features)
        assert (answer["algorithm"], answer["scores"]) == (decision.algorithm, decision.scores)
        lost.append(0.1 + 0.07 * number)
        told = shared.call("POST", f"{path}/observe", {"decision": answer["id"], "loss": lost[-1]})
        assert told.json == {"decision": answer["id"], "learned": True}
        local.observe(decision, loss=lost[-1])
    latest = shared.call("GET", f"{path}/decisions").json["decisions"][0]
    assert (latest["outcome"]["status"], latest["outcome"]["loss"]) == ("rated", lost[-1])
    counted = shared.call("GET", f"{path}/statistics").json
    assert abs(counted["mean_loss"] - sum(lost) / 12) < 1e-12
    assert counted["par10"] is None
    assert counted["curve"] == []


def test_wrong_losses_are_refused(shared: Running) -> None:
    path = shared.create("wrongly-rated", "tailcut")
    number = shared.call("POST", f"{path}/select", {"features": [1.0]}).json["id"]
    for body in ({"loss": 1.5}, {"loss": -0.1}, {"loss": "0.5"}, {"loss": 0.5, "runtime": 2.0}):
        assert shared.call("POST", f"{path}/observe", {"decision": number, **body}).status == 422
    assert shared.call("POST", f"{path}/observe", {"decision": number, "loss": 0.5}).status == 200
    number = shared.call("POST", f"{path}/select", {"features": [1.0]}).json["id"]
    mixed = shared.call("POST", f"{path}/observe", {"decision": number, "runtime": 2.0})
    assert mixed.status == 422
    assert "has learned losses so far" in mixed.json["errors"][0]["message"]
    path = shared.create("timed", "thompson")
    number = shared.call("POST", f"{path}/select", {"features": [1.0]}).json["id"]
    refused = shared.call("POST", f"{path}/observe", {"decision": number, "loss": 0.5})
    assert refused.status == 422
    assert "these learn losses: tailcut, bounded_thompson" in refused.json["errors"][0]["message"]


def test_the_client_sends_losses(shared: Running) -> None:
    shared.create("by-client", "tailcut")
    with shared.client() as client:
        project = client.project("by-client")
        first, second = project.select([1.0]), project.select([2.0])
        assert project.observe(first, loss=0.25)
        assert not project.observe(first, Outcome.rated(0.25))
        assert project.observe_batch([(second, Outcome.rated(30, best=0, worst=40))]) == [True]


def test_refused_recorded_runs_leave_no_trace_and_the_file_verifies(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    runs = {
        "algorithms": ["a", "b"],
        "cutoff": 60.0,
        "feature_names": ["u", "v"],
        "features": [[1.0, 2.0]],
        "runtimes": [[1.0, 2.0]],
        "solved": [[True, True]],
    }
    with Running(path) as running:
        project = running.create("p", "tailcut")
        running.call("POST", f"{project}/select", {})
        running.call("POST", f"{project}/observe", {"decision": 0, "loss": 0.5})
        assert running.call("POST", f"{project}/fit", runs).status == 422
        assert running.call("POST", f"{project}/select", {"features": [1.0]}).status == 200
    checked = subprocess.run(
        [sys.executable, "-m", "tailcut", "state", "verify", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_race_may_be_the_first_to_have_features(shared: Running) -> None:
    path = shared.create("first-features", "tailcut")
    assert shared.call("POST", f"{path}/select", {}).status == 200
    considered = shared.call("POST", f"{path}/consider", {"features": [1.0, 2.0]})
    assert considered.status == 200, considered.body
    raced = shared.call("POST", f"{path}/race", {"features": [1.0, 2.0], "k": 2})
    assert (raced.status, len(raced.json["decisions"])) == (200, 2)
