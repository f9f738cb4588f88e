"""Whatever is sent, the server never fails: schemathesis on the OpenAPI document, hypothesis on bodies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.running import Running

EXAMPLES = int(os.environ.get("TAILCUT_FUZZ_EXAMPLES", "12"))
"""How many requests schemathesis makes up per route in its fuzzing phase; more when asked to."""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
PROJECTS = {"picks": "thompson_rev", "default": "tailcut", "schedule": "round_robin"}


@pytest.fixture(scope="module")
def projects(shared: Running) -> Running:
    for name, selector in PROJECTS.items():
        path = shared.create(name, selector)
        for number in range(5):
            shared.call("POST", f"{path}/select", {"features": [1.0 * number, 2.0]})
            shared.call("POST", f"{path}/observe", {"decision": number, "censored_at": 20.0})
    return shared


def aimed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the project's name and the decision's number narrowed to what exists."""
    del document["paths"]["/v1/projects/{project}/live"]  # never ends; tested on its own
    for operations in document["paths"].values():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "project":  # to delete those that the others need would end it
                    parameter["schema"] = {
                        "enum": ["nobody"] if method == "delete" else [*PROJECTS, "nobody"]
                    }
    for schema in document["components"]["schemas"].values():
        if "decision" in schema.get("properties", {}) and schema["properties"]["decision"].get("maximum"):
            schema["properties"]["decision"]["maximum"] = 30
    return document


@pytest.mark.slow
def test_schemathesis_finds_no_fault(projects: Running, tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(aimed(projects.call("GET", "/v1/openapi.json").json)))
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        str(file),
        "--url",
        projects.address,
    ]
    command += ["--header", f"Authorization: Bearer {projects.token}", "--checks", CHECKS]
    command += ["--max-examples", str(EXAMPLES), "--phases", "examples,coverage,fuzzing", "--no-color"]
    command += ["--suppress-health-check", "all", "--generation-database", "none", "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=900, check=False)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    for name in PROJECTS:  # and what it did is sound
        assert projects.call("GET", f"/v1/projects/{name}/statistics").status == 200


numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.just(10**400))
names = st.one_of(st.sampled_from(["a", "b", "c", "size", ""]), st.text(max_size=20))
anything = st.recursive(
    st.one_of(numbers, names),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(names, inner, max_size=5)),
    max_leaves=10,
)


def close_to(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with these fields, some missing, some with anything in them, some more."""
    usual = st.fixed_dictionaries({}, optional=fields)
    odd = st.fixed_dictionaries({}, optional=dict.fromkeys([*fields, "more"], anything))
    return st.one_of(usual, st.builds(lambda one, other: {**one, **other}, usual, odd), anything)


seconds = st.one_of(st.floats(0.0, 100.0), numbers)
selects = close_to(
    features=st.one_of(
        st.lists(
            st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.none()), min_size=2, max_size=2
        ),
        st.dictionaries(names, st.floats()),
    ),
    instance=names,
    cutoff=seconds,
    among=st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
    spent=seconds,
    key=names,
)
observes = close_to(decision=st.integers(0, 40), runtime=seconds, censored_at=seconds, failed=st.booleans())
flags = st.lists(st.lists(st.booleans(), min_size=2, max_size=2), min_size=1, max_size=2)
table = st.lists(st.lists(seconds, min_size=2, max_size=2), min_size=1, max_size=2)
fits = close_to(
    algorithms=st.just(["a", "b"]),
    cutoff=seconds,
    feature_names=st.one_of(st.none(), st.lists(names, max_size=2)),
    features=table,
    runtimes=table,
    solved=flags,
    known=flags,
    key=names,
)
bodies = st.one_of(
    st.tuples(st.just("/select"), selects),
    st.tuples(st.just("/observe"), observes),
    st.tuples(st.just("/proceed"), close_to(decision=st.integers(0, 40), spent=seconds)),
    st.tuples(st.just("/select/batch"), close_to(requests=st.lists(selects, max_size=4))),
    st.tuples(st.just("/observe/batch"), close_to(outcomes=st.lists(observes, max_size=4))),
    st.tuples(st.just("/algorithms"), close_to(name=names)),
    st.tuples(st.just("/consider"), close_to(features=st.lists(seconds, max_size=3), top=st.integers())),
    st.tuples(st.just("/fit"), fits),
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(project=st.sampled_from(sorted(PROJECTS)), sent=bodies)
def test_no_body_makes_it_fail(projects: Running, project: str, sent: tuple[str, Any]) -> None:
    path, body = sent
    answer = projects.call("POST", f"/v1/projects/{project}{path}", json.dumps(body).encode())
    assert answer.status < 500, (answer.body, body)
    assert answer.status != 400, (answer.body, body)
    if answer.status == 422:
        assert answer.json["errors"][0]["field"]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.binary(max_size=60))
def test_no_bytes_make_it_fail(projects: Running, body: bytes) -> None:
    assert projects.call("POST", "/v1/projects/picks/select", body).status in (200, 422)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=close_to(
        name=st.from_regex(r"[A-Za-z0-9._-]{1,5}", fullmatch=True),
        algorithms=st.lists(names, max_size=4),
        cutoff=seconds,
        selector=st.sampled_from(["tailcut", "thompson", "round_robin", "degroote_epsilon_greedy_lr", "x"]),
        seed=st.integers(),
        feature_names=st.lists(names, max_size=3),
        hyperparameters=st.dictionaries(
            st.sampled_from(["trees", "ridge", "window", "representation", "epsilon", "pace"]), anything
        ),
        max_pending=st.integers(),
    )
)
def test_no_project_makes_it_fail(projects: Running, body: Any) -> None:
    answer = projects.call("POST", "/v1/projects", json.dumps(body).encode())
    assert answer.status in (200, 201, 409, 422), (answer.body, body)
    if answer.status == 201:
        path = f"/v1/projects/{body['name']}"
        assert projects.call("POST", f"{path}/select", {"features": [1.0, 2.0]}).status in (200, 422)


def test_after_all_that_the_journal_repeats(projects: Running) -> None:
    """Runs last: whatever was accepted above is sound."""
    from tailcut.journal import Journal, upkeep

    with Journal(projects.path, read_only=True) as journal:
        found = list(upkeep.verify(journal))
    assert len(found) >= len(PROJECTS)
    assert [one for one in found if one.problem] == []
