"""Projects over HTTP: made, listed, changed, limited; what can be read of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tailcut.service.service_limits import ServiceLimits
from tests.service.running import Running

PROJECT: dict[str, Any] = {"name": "x", "algorithms": ["a", "b"], "cutoff": 60.0}


def test_made_once_and_found_again(shared: Running) -> None:
    body = {**PROJECT, "name": "once", "hyperparameters": {"trees": 5}, "seed": 3}
    first, again = (shared.call("POST", "/v1/projects", body) for _ in range(2))
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    assert (first.json["selector"], first.json["hyperparameters"]["trees"]) == ("tailcut", 5)
    other = shared.call("POST", "/v1/projects", {**body, "cutoff": 61.0})
    assert other.status == 409
    assert "once" in [one["name"] for one in shared.call("GET", "/v1/projects").json["projects"]]
    assert shared.call("GET", "/v1/projects/once").json == first.json


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "../etc/passwd"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"algorithms": []}, "algorithms"),
        ({"algorithms": ["a", "a"]}, "algorithms"),
        ({"algorithms": ["a\n"]}, "algorithms.0"),
        ({"algorithms": ["x" * 101]}, "algorithms.0"),
        ({"algorithms": [f"a{k}" for k in range(1001)]}, "algorithms"),
        ({"cutoff": 0}, "cutoff"),
        ({"selector": "nonsense"}, "selector"),
        ({"seed": -1}, "seed"),
        ({"hyperparameters": {"nonsense": 1}}, "hyperparameters"),
        ({"hyperparameters": {"trees": 1.5}}, "hyperparameters"),
        ({"hyperparameters": {"trees": 10_000, "memory": 1_000_000}}, "features"),
        ({"feature_names": ["a", "a"]}, "feature_names"),
        ({"max_pending": 0}, "max_pending"),
        ({"max_pending": 1_000_000}, "max_pending"),
    ],
)
def test_a_wrong_project_is_refused(shared: Running, change: dict[str, Any], field: str) -> None:
    answer = shared.call("POST", "/v1/projects", {**PROJECT, **change})
    assert answer.status == 422, answer.body
    assert answer.json["errors"][0]["field"] == field
    assert shared.call("GET", "/v1/projects/x").status == 404


def test_the_number_of_projects_and_of_pending_decisions_is_limited(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db", ServiceLimits(projects=2)) as running:
        running.create("one", max_pending=5)
        running.create("two")
        full = running.call("POST", "/v1/projects", {**PROJECT, "name": "three"})
        assert (full.status, "limit" in full.json["message"]) == (409, True)
        for _ in range(8):
            running.call("POST", "/v1/projects/one/select", {"features": [1.0]})
        statistics = running.call("GET", "/v1/projects/one/statistics").json
        assert (statistics["pending"], statistics["given_up"]) == (5, 3)
        gone = running.call("POST", "/v1/projects/one/observe", {"decision": 0, "failed": True})
        assert (gone.status, "no longer known" in gone.json["message"]) == (404, True)


def test_algorithms_come_and_go(shared: Running) -> None:
    path = shared.create("change")
    shared.call("POST", f"{path}/select", {"features": [1.0]})
    for _ in range(2):  # the second time it changes nothing
        answer = shared.call("POST", f"{path}/algorithms", {"name": "d/2 ä"})
        assert answer.json["algorithms"] == ["a", "b", "c", "d/2 ä"]
    for _ in range(2):
        answer = shared.call("DELETE", f"{path}/algorithms/d/2%20%C3%A4")
        assert answer.json["algorithms"] == ["a", "b", "c"]
    for name in ("a", "b"):
        assert shared.call("DELETE", f"{path}/algorithms/{name}").status == 200
    last = shared.call("DELETE", f"{path}/algorithms/c")
    assert (last.status, "only algorithm left" in last.json["message"]) == (422, True)


def busy(shared: Running, name: str) -> str:
    path = shared.create(name)
    for number in range(10):
        decision = shared.call(
            "POST", f"{path}/select", {"features": [1.0 * number], "instance": f"i{number}"}
        ).json
        outcome = {"runtime": 6.0} if number % 2 else {"censored_at": 60.0}
        if number != 5:
            shared.call("POST", f"{path}/observe", {"decision": decision["id"], **outcome})
    return path


def test_statistics_tell_what_happened(shared: Running) -> None:
    path = busy(shared, "counted")
    found = shared.call("GET", f"{path}/statistics").json
    counts = [
        found[field] for field in ("decisions", "outcomes", "pending", "instances", "solved", "unsolved")
    ]
    assert counts == [10, 9, 1, 9, 4, 5]
    assert math.isclose(found["par10"], (4 * 6.0 + 5 * 600.0) / 9)
    assert sum(one["chosen"] for one in found["algorithms"]) == 10
    assert math.isclose(sum(one["share"] for one in found["algorithms"]), 1.0)
    assert found["curve"][-1]["par10"] == found["par10"]
    assert found["latency_ms"]["count"] == 10
    waiting = shared.call("GET", f"{path}/pending").json
    assert (waiting["count"], waiting["decisions"][0]["instance"]) == (1, "i5")
    name = max(found["algorithms"], key=lambda one: one["chosen"])["name"]
    curve = shared.call("GET", f"{path}/survival?algorithm={name}").json
    assert curve["curve"][0] == {"time": 0.0, "survival": 1.0, "at_risk": curve["runs"]}
    assert shared.call("GET", f"{path}/survival?algorithm=nobody").status == 404


def test_history_in_pages(shared: Running) -> None:
    path = busy(shared, "paged")
    seen, cursor = [], ""
    while True:
        page = shared.call("GET", f"{path}/history?limit=4&order=oldest{cursor}").json
        seen += page["events"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert [one["kind"] for one in seen].count("select") == 10
    assert len(seen) == 19
    assert all("features" not in one["body"] for one in seen)
    about = shared.call("GET", f"{path}/history?decision=3&features=true").json["events"]
    assert [one["kind"] for one in about] == ["observe", "select"]
    assert about[1]["body"]["features"] == [3.0]
    assert len(shared.call("GET", f"{path}/history?kind=observe&limit=500").json["events"]) == 9
    assert shared.call("GET", f"{path}/history?limit=0").status == 422
    assert shared.call("GET", f"{path}/history?kind=nonsense").status == 422
    decisions = shared.call("GET", f"{path}/decisions?limit=6").json
    assert [one["id"] for one in decisions["decisions"]] == [9, 8, 7, 6, 5, 4]
    assert decisions["decisions"][4]["outcome"] is None
    assert decisions["decisions"][0]["outcome"]["status"] == "solved"
    rest = shared.call("GET", f"{path}/decisions?limit=6&cursor={decisions['next']}").json
    assert ([one["id"] for one in rest["decisions"]], rest["next"]) == ([3, 2, 1, 0], None)


def test_explanations(shared: Running) -> None:
    path = busy(shared, "explained")
    found = shared.call("GET", f"{path}/decisions/9/explanation?top=1").json
    assert (found["decision"], found["instance"]) == (9, "i9")
    assert len(found["algorithms"]) == 3
    assert found["algorithm"] in found["text"]
    assert shared.call("GET", f"{path}/decisions/99/explanation").status == 404


def test_metrics_count(shared: Running) -> None:
    if shared.call("GET", "/v1/projects/measured").status == 404:
        busy(shared, "measured")
    answer = shared.call("GET", "/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    assert 'tailcut_pending{project="measured"} 1.0' in lines
    assert 'tailcut_instances_total{project="measured",result="solved"} 4.0' in lines
    samples = [line for line in lines if not line.startswith("#")]
    assert all(len(line.rsplit(" ", 1)) == 2 and float(line.rsplit(" ", 1)[1]) >= 0 for line in samples)
    assert any(line.startswith("tailcut_http_requests_total{") for line in samples)


def test_selectors_are_listed(shared: Running) -> None:
    names = [one["name"] for one in shared.call("GET", "/v1/selectors").json["selectors"]]
    assert "tailcut" in names


def test_the_document_is_openapi_3_1(shared: Running) -> None:
    document = json.loads(shared.call("GET", "/v1/openapi.json").body)
    assert document["openapi"].startswith("3.1")
    assert document["paths"]["/v1/health"]["get"].get("security") is None
    assert document["paths"]["/v1/projects"]["post"]["security"] == [{"token": []}]
