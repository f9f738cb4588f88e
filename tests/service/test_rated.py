"""Losses over HTTP: the service learns what a selector would, and keeps it."""

from __future__ import annotations

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
