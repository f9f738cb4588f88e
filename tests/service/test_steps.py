"""Select, observe, proceed over HTTP: what they answer and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.running import Running


def test_a_selector_over_http_is_the_selector(shared: Running) -> None:
    from tailcut import Selector

    path = shared.create("same", "thompson_rev", seed=5)
    local = Selector("thompson_rev", ["a", "b", "c"], 60.0, seed=5)
    for number in range(20):
        features = [float(number), 2.0, -1.0]
        answer = shared.call("POST", f"{path}/select", {"features": features, "instance": f"i{number}"}).json
        decision = local.select(features, instance=f"i{number}")
        assert (answer["id"], answer["algorithm"], answer["scores"]) == (
            decision.id,
            decision.algorithm,
            decision.scores,
        )
        told = shared.call("POST", f"{path}/observe", {"decision": answer["id"], "runtime": 1.0 + number})
        assert told.json == {"decision": answer["id"], "learned": True}
        local.observe(decision, runtime=1.0 + number)


def test_features_by_name_and_missing_values(shared: Running) -> None:
    path = shared.create("named", feature_names=["size", "depth"])
    answer = shared.call("POST", f"{path}/select", {"features": {"depth": 3.0, "size": None}})
    assert answer.status == 200
    assert shared.call("POST", f"{path}/select", {"features": [1, None]}).status == 200
    wrong = shared.call("POST", f"{path}/select", {"features": {"width": 3.0}})
    assert (wrong.status, wrong.json["errors"]) == (
        422,
        [{"field": "features", "message": "unknown features: width"}],
    )


def test_cutoff_subset_and_time_spent_per_call(shared: Running) -> None:
    path = shared.create("percall")
    body = {"features": [1.0], "cutoff": 20.0, "among": ["c"], "spent": 5.0}
    answer = shared.call("POST", f"{path}/select", body).json
    assert (answer["algorithm"], answer["budget"], answer["cutoff"], answer["spent"]) == (
        "c",
        15.0,
        20.0,
        5.0,
    )
    assert list(answer["scores"]) == ["c"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"features": [1.0, NaN]}', "features.1"),
        (b'{"features": [Infinity, 1.0]}', "features.0"),
        (b'{"features": [1e999, 1.0]}', "features.0"),
        (b'{"features": {"x": -Infinity}}', "features.x"),
        ({"features": [1e200, 1.0]}, "features.0"),
        ({"features": ["1", 1.0]}, "features.0"),
        ({"features": [True, 1.0]}, "features.0"),
        ({"features": [1.0]}, "features"),
        ({"features": [1.0, 2.0, 3.0]}, "features"),
        ({"features": [[1.0], [2.0]]}, "features.0"),
        ({"features": "abc"}, "features"),
        ({}, "features"),
        ({"features": [1.0, 2.0], "among": ["nobody"]}, "among"),
        ({"features": [1.0, 2.0], "among": []}, "among"),
        ({"features": [1.0, 2.0], "cutoff": 0}, "cutoff"),
        ({"features": [1.0, 2.0], "cutoff": -3}, "cutoff"),
        ({"features": [1.0, 2.0], "cutoff": "60"}, "cutoff"),
        ({"features": [1.0, 2.0], "spent": 60.0}, "spent"),
        ({"features": [1.0, 2.0], "spent": -1}, "spent"),
        ({"features": [1.0, 2.0], "key": ""}, "key"),
        ({"features": [1.0, 2.0], "key": "x" * 201}, "key"),
        ({"features": [1.0, 2.0], "instance": 7}, "instance"),
        ({"features": [1.0, 2.0], "colour": "red"}, "colour"),
        (b'{"features": [1.0', "body"),
        (b'"\\ud800"', "body"),
        (b"", "body"),
        ([], "body"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(shared: Running, body: Any, field: str) -> None:
    path = "/v1/projects/strict"
    if shared.call("GET", path).status == 404:
        shared.create("strict")
        shared.call("POST", f"{path}/select", {"features": [1.0, 2.0]})
    answer = shared.call("POST", f"{path}/select", body)
    assert answer.status == 422, answer.body
    assert field in [error["field"] for error in answer.json["errors"]]
    assert shared.call("GET", path).json["pending"] == 1


def test_the_same_key_is_answered_once(shared: Running) -> None:
    path = shared.create("keys")
    first = shared.call("POST", f"{path}/select", {"features": [1.0], "key": "k"}).json
    again = shared.call("POST", f"{path}/select", {"features": [1.0], "key": "k"}).json
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert {**first, "repeated": True} == again
    assert shared.call("GET", path).json["pending"] == 1


def test_the_same_key_is_answered_once_in_a_batch_too(shared: Running) -> None:
    """Known from before, new and asked for twice in the batch, or none at all."""
    path = shared.create("batch-keys")
    before = shared.call("POST", f"{path}/select", {"features": [2.0], "key": "old"}).json
    wrong = {"features": [1.0, 2.0], "key": "wrong"}
    requests = [{"features": [2.0], "key": key} for key in ("new", "old", "new", None, None)]
    answers = shared.call("POST", f"{path}/select/batch", {"requests": [wrong, *requests, wrong]}).json[
        "answers"
    ]
    assert [answer["error"] is None for answer in answers] == [False, *[True] * 5, False]
    new, old, again, one, other = (answer["decision"] for answer in answers[1:-1])
    assert old == {**before, "repeated": True}
    assert again == {**new, "repeated": True} != new
    assert len({before["id"], new["id"], one["id"], other["id"]}) == 4
    assert shared.call("GET", path).json["pending"] == 4


def test_outcomes_late_in_any_order_and_again(shared: Running) -> None:
    path = shared.create("late")
    ids = [shared.call("POST", f"{path}/select", {"features": [1.0]}).json["id"] for _ in range(3)]
    outcomes: list[dict[str, Any]] = [{"censored_at": 60.0}, {"failed": True}, {"runtime": 0}]
    for number, outcome in zip(reversed(ids), outcomes, strict=True):
        body = {"decision": number, **outcome}
        assert shared.call("POST", f"{path}/observe", body).json["learned"] is True
        assert shared.call("POST", f"{path}/observe", body).json["learned"] is False
    conflict = shared.call("POST", f"{path}/observe", {"decision": ids[0], "runtime": 3.0})
    assert conflict.status == 409
    unknown = shared.call("POST", f"{path}/observe", {"decision": 99, "runtime": 3.0})
    assert (unknown.status, unknown.json["message"]) == (404, "there is no decision 99")


@pytest.mark.parametrize(
    "outcome",
    [
        {},
        {"runtime": 1.0, "failed": True},
        {"runtime": -1.0},
        {"censored_at": 0},
        {"runtime": None},
        {"failed": "yes"},
        {"runtime": 1e300},
    ],
)
def test_an_outcome_is_exactly_one(shared: Running, outcome: dict[str, Any]) -> None:
    path = "/v1/projects/one-outcome"
    if shared.call("GET", path).status == 404:
        shared.create("one-outcome")
        shared.call("POST", f"{path}/select", {"features": [1.0]})
    answer = shared.call("POST", f"{path}/observe", {"decision": 0, **outcome})
    assert answer.status == 422, answer.body
    assert answer.json["errors"]


def test_batches_tell_of_each_item(shared: Running) -> None:
    path = shared.create("batches")
    requests = [
        {"features": [1.0, 2.0], "key": "k"},
        {"features": [1.0]},
        {"features": [1.0, 2.0], "key": "k"},
    ]
    answers = shared.call("POST", f"{path}/select/batch", {"requests": requests}).json["answers"]
    assert [one["error"] and one["error"]["field"] for one in answers] == [None, "features", None]
    assert answers[0]["decision"]["id"] == answers[2]["decision"]["id"] == 0
    outcomes = [
        {"decision": 0, "runtime": 1.0},
        {"decision": 7, "failed": True},
        {"decision": 0, "runtime": 1.0},
    ]
    observed = shared.call("POST", f"{path}/observe/batch", {"outcomes": outcomes}).json["answers"]
    assert [one["learned"] for one in observed] == [True, False, False]
    assert [one["error"] and one["error"]["status"] for one in observed] == [None, 404, None]
    whole = shared.call(
        "POST", f"{path}/select/batch", {"requests": [{"features": [1.0, 2.0]}, {"spent": -1}]}
    )
    assert whole.status == 422
    assert whole.json["errors"][0]["field"] == "requests.1.spent"
    for count in (0, 1001):
        assert shared.call("POST", f"{path}/select/batch", {"requests": [{}] * count}).status == 422


def test_a_schedule_goes_on_and_tells_it_again(shared: Running) -> None:
    path = shared.create("schedule", "round_robin")
    first = shared.call("POST", f"{path}/select", {"instance": "i"}).json
    early = shared.call("POST", f"{path}/proceed", {"decision": first["id"]})
    assert early.status == 409
    shared.call("POST", f"{path}/observe", {"decision": first["id"], "censored_at": first["budget"]})
    following = shared.call("POST", f"{path}/proceed", {"decision": first["id"]}).json["decision"]
    assert (following["stage"], following["instance"], following["spent"]) == (1, "i", first["budget"])
    again = shared.call("POST", f"{path}/proceed", {"decision": first["id"]}).json["decision"]
    assert again == {**following, "repeated": True}
    shared.call("POST", f"{path}/observe", {"decision": following["id"], "runtime": 1.0})
    assert shared.call("POST", f"{path}/proceed", {"decision": following["id"]}).json == {"decision": None}


def test_a_model_that_would_not_fit_is_refused(shared: Running) -> None:
    path = shared.create("large", algorithms=[f"a{k}" for k in range(1000)])
    answer = shared.call("POST", f"{path}/select", {"features": [0.0] * 1000})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "features")
    assert shared.call("POST", f"{path}/select", {"features": [0.0] * 10_001}).status == 422


RUNS: dict[str, Any] = {
    "algorithms": ["a", "b", "z"],
    "cutoff": 60.0,
    "features": [[1.0, None], [2.0, 3.0]],
    "runtimes": [[1.0, 70.0, 2.0], [None, 5.0, 2.0]],
    "solved": [[True, False, True], [False, True, True]],
}


def test_recorded_runs_are_learned_once(shared: Running) -> None:
    path = shared.create("fitted")
    for _ in range(2):
        answer = shared.call("POST", f"{path}/fit", {**RUNS, "key": "k"})
        assert (answer.status, answer.json) == (200, {"runs": 3})
    known = [[True, True, True], [True, False, True]]
    assert shared.call("POST", f"{path}/fit", {**RUNS, "known": known, "key": "l"}).json == {"runs": 2}
    first, _ = shared.call("GET", f"{path}/history?order=oldest&kind=fit").json["events"]
    assert first["body"] == {"algorithms": ["a", "b", "z"], "cutoff": 60.0, "feature_names": None, "runs": 3}
    whole = shared.call("GET", f"{path}/history?order=oldest&features=true&limit=1").json["events"][0]["body"]
    assert {name: whole[name] for name in RUNS} == RUNS
    more = {
        "instances": ["i", "j"],
        "watched": [[None, 20.0, None], [None, None, None]],
        "feature_cost": [1.5, None],
    }
    assert shared.call("POST", f"{path}/fit", {**RUNS, **more}).json == {"runs": 3}
    third = shared.call("GET", f"{path}/history?order=newest&features=true&limit=1").json["events"][0]["body"]
    assert {name: third[name] for name in more} == more
    assert shared.call("POST", f"{path}/select", {"features": [1.0, 2.0], "key": "k"}).json["id"] == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"algorithms": ["x", "y", "z"]}, "algorithms"),
        ({"algorithms": ["a", "a", "b"]}, "algorithms"),
        ({"cutoff": 0}, "cutoff"),
        ({"features": []}, "features"),
        ({"features": [[1.0], [1.0, 2.0]]}, "features"),
        ({"features": [[1.0, 2.0]] * 3}, "solved"),
        ({"features": [[1.0, 2.0]] * 10_001}, "features"),
        ({"feature_names": ["size"]}, "feature_names"),
        ({"runtimes": [[1.0, 2.0, 3.0]]}, "runtimes"),
        ({"runtimes": [[-1.0, 2.0, 3.0]] * 2}, "runtimes"),
        ({"solved": [[True], [True, False]]}, "solved"),
        ({"solved": [[1, 0, 1]] * 2}, "solved.0.0"),
        ({"known": [[True]]}, "known"),
        ({"instances": ["i"]}, "instances"),
        ({"watched": [[1.0, 2.0, 3.0]]}, "watched"),
        ({"watched": [[1.0, 0.0, 3.0]] * 2}, "watched.0.1"),
        ({"feature_cost": [1.0]}, "feature_cost"),
        ({"feature_cost": [1.0, -1.0]}, "feature_cost.1"),
        ({"key": ""}, "key"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_wrong_recorded_runs_are_named_and_change_nothing(
    shared: Running, change: dict[str, Any], field: str
) -> None:
    path = "/v1/projects/unfitted"
    if shared.call("GET", path).status == 404:
        shared.create("unfitted")
    answer = shared.call("POST", f"{path}/fit", {**RUNS, **change})
    assert answer.status == 422, answer.body
    assert field in [error["field"] for error in answer.json["errors"]]
    assert shared.call("GET", path).json["last_event"] == 0


def test_recorded_runs_of_too_many_features_are_refused(shared: Running) -> None:
    path = shared.create("wide", algorithms=[f"a{k}" for k in range(1000)])
    runs = {"algorithms": ["a0"], "cutoff": 1.0, "features": [[0.0] * 1000]}
    answer = shared.call("POST", f"{path}/fit", {**runs, "runtimes": [[1.0]], "solved": [[True]]})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "features")


def test_considering_and_the_feature_budget_change_nothing(shared: Running) -> None:
    path = shared.create("considered", "tailcut")
    assert shared.call("POST", f"{path}/consider", {"features": [1.0, 2.0]}).status == 409
    shared.call("POST", f"{path}/select", {"features": [1.0, 2.0]})
    before = shared.call("GET", path).json
    body = {"features": [1.0, None], "among": ["b"], "cutoff": 5.0, "top": 1}
    found = shared.call("POST", f"{path}/consider", body).json
    assert (found["algorithm"], found["cutoff"], found["decision"]) == ("b", 5.0, None)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"features": [1.0]}, "features"),
        ({"among": ["x"]}, "among"),
        ({"top": -1}, "top"),
    ]
    for wrong, field in changes:
        answer = shared.call("POST", f"{path}/consider", {"features": [1.0, 2.0], **wrong})
        assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)
    assert shared.call("GET", f"{path}/feature_budget").json == {"seconds": before["feature_budget"]}
    short = shared.call("GET", f"{path}/feature_budget?cutoff=6").json["seconds"]
    assert short == pytest.approx(before["feature_budget"] / 10)
    for wrong_cutoff in ("0", "nan", "inf", "x"):
        assert shared.call("GET", f"{path}/feature_budget?cutoff={wrong_cutoff}").status == 422
    assert shared.call("GET", path).json == before
