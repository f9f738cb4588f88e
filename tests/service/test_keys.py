"""Keys of requests: each names one request of one kind, and the same request gets the same answer."""

from __future__ import annotations

from typing import Any

import pytest

from tailcut.errors import RepeatedKeyError
from tailcut.journal import Journal, Project
from tests.service.running import Running

SETTINGS = {"selector": "thompson_rev", "algorithms": ["a", "b", "c"], "cutoff": 60.0}


def test_a_race_and_a_select_do_not_share_keys(shared: Running) -> None:
    path = shared.create("kinds")
    raced = shared.call("POST", f"{path}/race", {"features": [1.0], "k": 2, "key": "job"}).json["decisions"]
    one = shared.call("POST", f"{path}/select", {"features": [1.0], "key": "job 0"}).json
    other = shared.call("POST", f"{path}/select", {"features": [1.0], "key": "job"}).json
    assert [one["repeated"], other["repeated"]] == [False, False]
    assert len({one["id"], other["id"], *(run["id"] for run in raced)}) == 4
    again = shared.call("POST", f"{path}/race", {"features": [1.0], "k": 2, "key": "job"}).json["decisions"]
    assert again == [{**run, "repeated": True} for run in raced]


@pytest.mark.parametrize(
    ("route", "body", "change"),
    [
        ("select", {}, {"features": [2.0]}),
        ("select", {}, {"instance": "other"}),
        ("select", {}, {"cutoff": 30.0}),
        ("select", {}, {"among": ["a"]}),
        ("race", {"k": 2}, {"features": [2.0]}),
        ("race", {"k": 2}, {"k": 3}),
        ("race", {"k": 2, "among": ["a", "b"]}, {"among": ["b", "c"]}),
        ("race", {"k": 1, "running": {"a": 1.0}}, {"running": {"b": 1.0}}),
        ("race", {"k": 1, "failed": {"a": 1.0}}, {"failed": {}}),
    ],
)
def test_the_same_key_for_another_request_is_409(
    running: Running, route: str, body: dict[str, Any], change: dict[str, Any]
) -> None:
    path = f"{running.create()}/{route}"
    first = {"features": [1.0], "instance": "i", **body, "key": "k"}
    made = running.call("POST", path, first)
    assert made.status == 200, made.body
    refused = running.call("POST", path, {**first, **change})
    assert (refused.status, next(iter(change)) in refused.json["message"]) == (409, True), refused.body
    measured = running.call("POST", path, {**first, "feature_cost": 0.5})  # by one who computed them again
    assert measured.status == 200
    assert running.call("GET", "/v1/projects/p").json["pending"] == (2 if body.get("k") == 2 else 1)


def test_a_batch_refuses_only_the_item_whose_key_was_used(running: Running) -> None:
    path = running.create()
    requests = [{"features": [value], "key": "k"} for value in (1.0, 1.0, 2.0)]
    answers = running.call("POST", f"{path}/select/batch", {"requests": requests}).json["answers"]
    assert answers[1]["decision"] == {**answers[0]["decision"], "repeated": True}
    assert (answers[2]["decision"], answers[2]["error"]["status"]) == (None, 409)


def test_the_same_key_for_other_recorded_runs_is_409(running: Running) -> None:
    path = f"{running.create()}/fit"
    runs = {"algorithms": ["a"], "cutoff": 60.0, "features": [[1.0], [2.0]], "solved": [[True], [True]]}
    body = {**runs, "runtimes": [[1.0], [2.0]], "key": "k"}
    assert [running.call("POST", path, body).json["runs"] for _ in range(2)] == [2, 2]
    assert running.call("POST", path, {**body, "runtimes": [[1.0], [3.0]]}).status == 409
    assert running.call("GET", "/v1/projects/p/history").json["events"][0]["number"] == 1


def test_keys_of_version_0_2_are_honoured(tmp_path: Any) -> None:
    """Its races had keys as a select may have them, and did not say what was asked."""
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", SETTINGS)
        made = project.race([1.0], k=2, instance="i", key="job")
        one = project.select([1.0], instance="j", key="one")
        journal.rows("UPDATE events SET body = json_remove(body, '$.asked')")
        journal.rows("UPDATE events SET key = 'job ' || (number - 1) WHERE number < 3")
        assert project.race([1.0], k=2, instance="i", key="job") == made
        with pytest.raises(RepeatedKeyError, match="features"):
            project.race([2.0], k=2, instance="i", key="job")
        assert project.select([1.0], instance="j", key="one") == one
        new = project.select([1.0], instance="i", key="new 0")
        assert new not in project.race([1.0], k=2, instance="i", key="new")
        assert project.verify() == 6
