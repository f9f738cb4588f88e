"""Damaged files: a clear error or a valid scenario, never another exception."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailcut.scenarios import Scenario
from tailcut.scenarios.arff import Problems
from tailcut.scenarios.aslib_reader import FILES, build

JUNK = [
    b"", b"?", b"''", b"'", b'"', b"\\", b"%", b",", b",,,,", b"{", b"{1 2}", b"@DATA", b"@attribute x",
    b"\x00", b"\xff\xfe", b"1e999", b"-1", b"nan", b"inf", b"9" * 400, b"i1", b"nobody", b"ok", b"&a", b"*a",
    b"[", b"- ", b": ", b"!!python/object:os.system", b"---", b"\t", b"\r", "語".encode(), b"0x10", b"1_000",
    b"@", b"scenario_id: again", b"? ", b"[" * 500, b"<<: *a",
]  # fmt: skip

fuzz = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(files: dict[str, bytes]) -> None:
    """Read the files; whatever they hold, the outcome must be one of the two that are allowed."""
    problems = Problems()
    scenario = build(files, problems)
    assert (scenario is None) == bool(problems.errors)
    for problem in problems.found:
        assert problem.file in FILES
        assert len(str(problem)) < 2000
    last = {
        name: len(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
        for name, data in files.items()
    }
    assert all(1 <= p.line <= last[p.file] + 1 for p in problems.found if p.line is not None)
    if scenario is not None:
        check_valid(scenario)


def check_valid(scenario: Scenario) -> None:
    n, k, d = len(scenario.instances), len(scenario.algorithms), len(scenario.feature_names)
    assert scenario.runtimes.shape == scenario.solved.shape == scenario.statuses.shape == (n, k)
    assert scenario.features.shape == (n, d)
    assert scenario.feature_cost.shape == (n,)
    assert n > 0
    assert k > 0
    assert 0 < scenario.cutoff < np.inf
    assert np.isfinite(scenario.runtimes).all()
    assert (scenario.runtimes >= 0).all()
    assert (scenario.runtimes[scenario.solved] <= scenario.cutoff).all()
    assert not np.isinf(scenario.features).any()
    assert (scenario.feature_cost >= 0).all()
    assert list(scenario.instances) == sorted(set(scenario.instances))
    assert list(scenario.algorithms) == sorted(set(scenario.algorithms))
    assert "" not in scenario.instances + scenario.algorithms
    assert scenario.folds is None or scenario.folds.shape == (n,)


@st.composite
def damage(draw: st.DrawFn, data: bytes) -> bytes:
    """Delete, double, swap, garble or replace lines, cells and bytes, a few times."""
    for _ in range(draw(st.integers(1, 4))):
        lines = data.split(b"\n")
        here = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["delete", "double", "move", "cell", "line", "byte", "cut", "swap"]))
        if what == "delete":
            del lines[here]
        elif what == "double":
            lines.insert(draw(st.integers(0, len(lines))), lines[here])
        elif what == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(here))
        elif what == "cell":
            cells = lines[here].split(b",")
            cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(JUNK))
            lines[here] = b",".join(cells)
        elif what == "line":
            lines[here] = draw(st.sampled_from(JUNK) | st.binary(max_size=20))
        elif what == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[here], lines[other] = lines[other], lines[here]
        data = b"\n".join(lines)
        if what == "byte" and data:
            at = draw(st.integers(0, len(data) - 1))
            data = data[:at] + draw(st.binary(max_size=3)) + data[at + 1 :]
        elif what == "cut":
            data = data[: draw(st.integers(0, len(data)))]
        data = data or b"\n"
    return data


@pytest.fixture(scope="module")
def full_files(small_files: dict[str, bytes]) -> dict[str, bytes]:
    """All seven files, so that each can be damaged."""
    return small_files | {
        "cv.arff": b"@RELATION cv\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
        b"@ATTRIBUTE fold NUMERIC\n@DATA\ni1,1,1\ni2,1,2\ni3,1,1\n",
        "ground_truth.arff": b"@RELATION t\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE a {SAT,UNSAT}\n"
        b"@ATTRIBUTE b NUMERIC\n@DATA\ni1,SAT,1\ni2,?,?\ni3,UNSAT,2.5\n",
    }


@pytest.mark.parametrize("name", FILES)
@fuzz
@given(data=st.data())
def test_damaged_files_give_errors_or_valid_scenarios(
    name: str, full_files: dict[str, bytes], data: st.DataObject
) -> None:
    check(full_files | {name: data.draw(damage(full_files[name]))})


@fuzz
@given(name=st.sampled_from(FILES), content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_content_gives_errors_or_valid_scenarios(
    name: str, content: bytes, full_files: dict[str, bytes]
) -> None:
    check(full_files | {name: content})


@fuzz
@given(kept=st.sets(st.sampled_from(FILES), min_size=1))
def test_any_files_may_be_missing(kept: set[str], full_files: dict[str, bytes]) -> None:
    check({name: full_files[name] for name in FILES if name in kept})


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1_000_000,
        b"- " * 100_000,
        b"{a: " * 100_000,
        b"? " * 100_000,
        b"a: &a [" + b"*a, " * 50_000 + b"]",
        b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (i, i) for i in range(2_000)),
    ],
    ids=["lists", "items", "mappings", "keys", "own alias", "aliases"],
)
def test_hostile_descriptions_end(text: bytes, full_files: dict[str, bytes]) -> None:
    check(full_files | {"description.txt": text})


def test_hostile_tables_end(full_files: dict[str, bytes]) -> None:
    head = full_files["algorithm_runs.arff"].partition(b"@DATA\n")[0] + b"@DATA\n"
    all_different = b"".join(b"x%d,1,y%d,1.0,ok\n" % (i, i) for i in range(20_000))
    check(full_files | {"algorithm_runs.arff": head + all_different})
    check(full_files | {"algorithm_runs.arff": head + b"'a'," * 100_000})
    check(full_files | {"algorithm_runs.arff": head + b"'" + b"a\\" * 100_000})
    check(full_files | {"algorithm_runs.arff": head + b"'a'" + b" " * 200_000 + b"b"})
    many = b"@RELATION r\n" + b"".join(b"@ATTRIBUTE a%d NUMERIC\n" % i for i in range(20_000)) + b"@DATA\n"
    check(full_files | {"feature_values.arff": many})
