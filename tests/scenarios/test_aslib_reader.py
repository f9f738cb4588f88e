"""What the reader makes of files: formats, repetitions, and errors that name file, line and field."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tailcut import Scenario
from tailcut.errors import MissingExtraError, ScenarioError
from tailcut.scenarios import STATUSES, check_scenario
from tailcut.scenarios.arff import Problems
from tailcut.scenarios.aslib_reader import _doubles, _gaps, _mean, _median, _most_frequent, build

DESCRIPTION = """\
scenario_id: Odd
performance_measures: [runtime, quality]
performance_type:
- runtime
- solution_quality
maximize: [no, yes]
algorithm_cutoff_time: 1.0e+02   # seconds
algorithm_cutoff_memory: '?'
default_steps: first
feature_steps:
  first:
    provides: [size]
  second:
    provides: &others
    - 'a b'
    requires: first
features_deterministic: *others
"""
RUNS = """\
% a comment
@relation 'runs of odd'
@attribute instance_id string
@ATTRIBUTE repetition REAL
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime\tINTEGER
@ATTRIBUTE quality NUMERIC
@ATTRIBUTE runstatus {ok , timeout,memout, "crash"}

@DATA

'b, c',1,x,3,?,ok
'b, c',2,x,9,?,ok
'b, c',3,x,?,?,crash
% between
'b, c',1,"it's",100,0.5,ok
a\\n,1,x,100.5,1,ok
 a\\n , 1 ,it's,?,1,timeout
"""
VALUES = """\
@RELATION values
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE size NUMERIC
@ATTRIBUTE 'a b' NUMERIC
@DATA
'b, c',1,1,?
'b, c',2,2,?
a\\n,1,-1e3,5
"""
COSTS = """\
@RELATION costs
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE second NUMERIC
@ATTRIBUTE first NUMERIC
@DATA
'b, c',1,1,?
'b, c',2,?,4
a\\n,1,0.5,0.25
"""
FILES = {
    "description.txt": DESCRIPTION,
    "algorithm_runs.arff": RUNS.replace("\n", "\r\n"),
    "feature_values.arff": VALUES,
    "feature_costs.arff": COSTS,
    "feature_runstatus.arff": VALUES.replace("'a b' NUMERIC", "second STRING")
    .replace("size NUMERIC", "first {OK,timeout,presolved}")
    .replace("1,1,?", "1,timeout,unknown")
    .replace("2,2,?", "2,OK,ok")
    .replace("-1e3,5", "presolved,unknown"),
    "cv.arff": "@RELATION cv\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
    "@ATTRIBUTE fold NUMERIC\n@DATA\n'b, c',1,2\n'b, c',2,1\na\\n,1,1\na\\n,2,2\n",
    "ground_truth.arff": "@RELATION t\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE answer {SAT,UNSAT}\n"
    "@ATTRIBUTE best NUMERIC\n@DATA\n'b, c',SAT,?\n",
}


def written(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            (folder / name).write_bytes(text.encode())
    return folder


@pytest.fixture
def odd(tmp_path: Path) -> Scenario:
    return Scenario.read(written(tmp_path))


def test_names_are_taken_out_of_their_quotes_and_ordered(odd: Scenario) -> None:
    assert odd.instances == ("a\\n", "b, c")  # outside quotes a backslash is a backslash
    assert odd.algorithms == ("it's", "x")
    assert odd.feature_names == ("size", "a b")
    assert (odd.name, odd.cutoff) == ("Odd", 100.0)


def test_runs_are_the_median_and_the_most_frequent_status(odd: Scenario) -> None:
    assert odd.runtimes.tolist() == [[100.0, 100.5], [100.0, 6.0]]
    assert [[STATUSES[s] for s in row] for row in odd.statuses] == [["timeout", "ok"], ["ok", "ok"]]
    assert odd.status(0, 0) == "timeout"


def test_ok_above_the_cutoff_is_unsolved_and_at_the_cutoff_is_solved(odd: Scenario) -> None:
    assert odd.solved.tolist() == [[False, False], [True, True]]
    assert odd.losses().tolist() == [[1000.0, 1000.0], [100.0, 6.0]]
    assert odd.losses(penalty=1.0).tolist() == [[100.0, 100.0], [100.0, 6.0]]


def test_features_are_means_and_costs_medians_with_missing_ones_as_zero(odd: Scenario) -> None:
    np.testing.assert_array_equal(odd.features, [[-1000.0, 5.0], [1.5, math.nan]])
    assert [step.name for step in odd.feature_steps] == ["first", "second"]
    assert [step.costs.tolist() for step in odd.feature_steps] == [[0.25, 2.0], [0.5, 0.5]]
    assert odd.feature_cost.tolist() == [0.75, 2.5]
    assert odd.has_feature_costs


def test_feature_steps_keep_what_they_provide_require_and_how_they_ended(odd: Scenario) -> None:
    first, second = odd.feature_steps
    assert (first.features, first.requires, first.default) == (("size",), (), True)
    assert (second.features, second.requires, second.default) == (("a b",), ("first",), False)
    assert [STATUSES[s] for s in first.statuses] == ["presolved", "timeout"]  # on a tie, what came first
    assert [STATUSES[s] for s in second.statuses] == ["unknown", "unknown"]


def test_folds_are_those_of_the_first_repetition_and_truths_may_be_unknown(odd: Scenario) -> None:
    assert odd.folds is not None
    assert odd.folds.tolist() == [1, 2]
    assert odd.ground_truth is not None
    assert odd.ground_truth["answer"] == (None, "SAT")
    assert np.isnan(odd.ground_truth["best"]).all()  # type: ignore[arg-type]


def test_arrays_cannot_be_changed(odd: Scenario) -> None:
    with pytest.raises(ValueError, match="read-only"):
        odd.runtimes[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        odd.feature_steps[0].costs[0] = 1.0


def test_optional_files_may_be_missing(tmp_path: Path) -> None:
    optional = ("feature_costs.arff", "feature_runstatus.arff", "cv.arff", "ground_truth.arff")
    scenario = Scenario.read(written(tmp_path, dict.fromkeys(optional)))
    assert scenario.feature_cost.tolist() == [0.0, 0.0]
    assert not scenario.has_feature_costs
    assert scenario.folds is None
    assert scenario.ground_truth is None
    assert [(p.file, p.severity) for p in check_scenario(tmp_path)] == [("feature_runstatus.arff", "warning")]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("algorithm_runs.arff", "x,3,", "x,three,", "line 12, runtime: expected a number or ?, got 'three'"),
        ("algorithm_runs.arff", "x,3,", "x,1_0,", "line 12, runtime: expected a number or ?"),
        ("algorithm_runs.arff", "x,3,", "x,?,", "line 12, runtime: expected the seconds of an ok run"),
        ("algorithm_runs.arff", "x,3,", "x,-1,", "line 12, runtime: expected the seconds of an ok run"),
        ("algorithm_runs.arff", "x,3,", "x,1e999,", "line 12, runtime: expected the seconds of an ok run"),
        ("algorithm_runs.arff", "x,3,?,ok", "x,3,?,gone", "line 12, runstatus: expected one of ok, timeout"),
        (
            "algorithm_runs.arff",
            "x,3,?,ok",
            "x,3,?,other",
            "line 12, runstatus: 'other' is not among the dec",
        ),
        ("algorithm_runs.arff", "x,3,?,ok", "x,3,ok", "line 12: expected 6 values, got 5"),
        ("algorithm_runs.arff", "'b, c',1,x", "'b, c,1,x", "line 12: a quoted value does not end"),
        ("algorithm_runs.arff", "'b, c',1,x", "'b, c'd,1,x", "line 12: a quoted value does not end"),
        ("algorithm_runs.arff", "'b, c',1,x", "{0 x,1,x", "line 12: sparse rows"),
        ("algorithm_runs.arff", "'b, c',2,x", "'b, c',1,x", "line 13, repetition: this instance, rep"),
        (
            "algorithm_runs.arff",
            "'b, c',2,x",
            "'b, c',0.5,x",
            "line 13, repetition: expected a whole number >=",
        ),
        ("algorithm_runs.arff", "'b, c',2,x", "?,2,x", "line 13, instance_id: expected a name, got none"),
        ("algorithm_runs.arff", "'b, c',2,x", "'b, c',2,", "line 13, algorithm: expected a name, got none"),
        ("algorithm_runs.arff", "'b, c',2,x", "'b, c',2,y", "algorithm: no run of 'y' on 'a\\\\n'"),
        ("algorithm_runs.arff", "\tINTEGER", "\tDATE", "line 6, runtime: expected the type NUMERIC"),
        ("algorithm_runs.arff", "runtime\t", "seconds\t", "runtime: this column is missing"),
        ("algorithm_runs.arff", "quality", "runtime", "line 7, runtime: this column is declared twice"),
        ("algorithm_runs.arff", "@DATA", "@DATUM", "line 10: expected @RELATION, @ATTRIBUTE or @DATA"),
        ("algorithm_runs.arff", "x,3,", "x,3\xff,", "line 12, runtime: expected a number or ?, got '3ÿ'"),
        ("feature_values.arff", "a\\n,1,-1e3", "b,1,-1e3", "instance_id: no row for instance 'a\\\\n'"),
        ("feature_values.arff", "a\\n,1,-1e3,5\n", "", "instance_id: no row for instance 'a\\\\n'"),
        ("feature_values.arff", "'b, c',2", "'b, c',1", "line 8, repetition: this instance and repetition a"),
        ("feature_costs.arff", "0.25", "-0.25", "line 9, first: expected seconds >= 0 or ?, got '-0.25'"),
        ("feature_runstatus.arff", "timeout,unk", "timeout,?", "line 7, second: expected one of ok"),
        ("cv.arff", "a\\n,1,1", "a\\n,1,x", "line 8, fold: expected a number or ?, got 'x'"),
        ("cv.arff", "@ATTRIBUTE fold", "@ATTRIBUTE folds", "fold: this column is missing"),
        ("ground_truth.arff", "c',SAT", "c',sat", "line 6, answer: 'sat' is not among the declared values"),
        ("description.txt", "scenario_id: Odd\n", "", "scenario_id: this field is missing"),
        ("description.txt", "1.0e+02 ", "soon ", "line 7, algorithm_cutoff_time: expected a number of s"),
        (
            "description.txt",
            "1.0e+02 ",
            "-3 ",
            "line 7, algorithm_cutoff_time: expected a finite number of seconds > 0",
        ),
        ("description.txt", "1.0e+02 ", "'?' ", "line 7, algorithm_cutoff_time: expected a finite number"),
        (
            "description.txt",
            "[runtime, quality]",
            "[runtime]",
            "line 4, performance_type: expected one per p",
        ),
        ("description.txt", "- runtime\n", "- speed\n", "line 4, performance_type: expected runtime or sol"),
        ("description.txt", "maximize", "scenario_id", "line 6: field 'scenario_id' is given twice"),
        ("description.txt", "[no, yes]", "[no, yes", "line 7: not valid YAML: did not find expected"),
        ("description.txt", "*others", "*nobody", "line 17: *nobody refers to nothing"),
        (
            "description.txt",
            "[size]",
            "[" * 100 + "size" + "]" * 100,
            "line 12: nested deeper than 20 levels",
        ),
        (
            "description.txt",
            "provides: [size]",
            "- size",
            "line 12, feature_steps.first: expected 'provides'",
        ),
        ("description.txt", "[size]", "{size: 1}", "line 12, feature_steps.first.provides: expected a list"),
    ],
)
def test_errors_name_file_line_and_field(
    file: str, old: str, new: str, expected: str, tmp_path: Path
) -> None:
    assert old in FILES[file]
    written(tmp_path, {file: FILES[file].replace(old, new, 1)})
    with pytest.raises(ScenarioError) as raised:
        Scenario.read(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}: {file}")
    assert f"{file}, {expected}" in str(raised.value).replace(f"{file}: ", f"{file}, ")


def test_bytes_that_are_not_utf8_are_found(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "cv.arff").write_bytes(FILES["cv.arff"].encode() + b"\xff\xfe,1,1\n")
    with pytest.raises(ScenarioError, match=r"cv\.arff, line 10: byte 0xff is not UTF-8"):
        Scenario.read(tmp_path)


def test_all_problems_are_found_not_only_the_first(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "description.txt": DESCRIPTION.replace("1.0e+02", "never"),
            "algorithm_runs.arff": RUNS.replace("x,3,", "x,?,").replace("x,9,", "x,-9,"),
            "feature_values.arff": VALUES.replace("-1e3", "low").replace("2,?", "2,high"),
            "feature_costs.arff": COSTS.replace("0.25", "-1"),
        },
    )
    found = [(p.file, p.line, p.field) for p in check_scenario(tmp_path) if p.severity == "error"]
    assert found == [
        ("description.txt", 7, "algorithm_cutoff_time"),
        ("algorithm_runs.arff", 12, "runtime"),
        ("algorithm_runs.arff", 13, "runtime"),
        ("feature_values.arff", 9, "size"),
        ("feature_values.arff", 8, "a b"),
        ("feature_costs.arff", 9, "first"),
    ]


def test_one_error_of_many_says_how_many_more(tmp_path: Path) -> None:
    written(tmp_path, {"algorithm_runs.arff": RUNS.replace("x,3,", "x,?,").replace("x,9,", "x,-9,")})
    with pytest.raises(ScenarioError, match=r"line 12, .*\(and 1 more\)$"):
        Scenario.read(tmp_path)


def test_odd_numbers_are_warnings_and_missing_values(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "feature_values.arff": VALUES.replace("-1e3", "NaN").replace("2,2,", "2,1e999,"),
            "algorithm_runs.arff": RUNS.replace("it's,?", "it's,-1"),
        },
    )
    scenario = Scenario.read(tmp_path)
    np.testing.assert_array_equal(scenario.features[:, 0], [math.nan, 1.0])
    assert scenario.runtimes[0, 0] == 100.0  # the time of a run that failed is not known: the cutoff
    messages = [str(problem) for problem in check_scenario(tmp_path)]
    assert "feature_values.arff, line 9, size: 'NaN' is not finite; taken as missing" in messages
    assert "algorithm_runs.arff, line 18, runtime: '-1' is not a time; treated as not recorded" in messages


def test_rows_of_instances_without_runs_are_left_out_with_a_warning(tmp_path: Path) -> None:
    extra = {name: FILES[name] + "b,1,x,y\n" for name in ("feature_values.arff", "feature_costs.arff")}
    scenario = Scenario.read(written(tmp_path, extra | {"cv.arff": FILES["cv.arff"] + "b,1,3\n"}))
    assert scenario == Scenario.read(written(tmp_path))
    written(tmp_path, extra)
    assert [(p.file, p.line, p.message, p.severity) for p in check_scenario(tmp_path)] == [
        ("feature_values.arff", 10, "'b' has no algorithm runs; the row is left out", "warning"),
        ("feature_costs.arff", 10, "'b' has no algorithm runs; the row is left out", "warning"),
        ("ground_truth.arff", None, "1 instances have no row", "warning"),
    ]


def test_instances_without_rows_in_optional_files_are_unknown(tmp_path: Path) -> None:
    cut = {
        name: FILES[name].replace("a\\n,", "% a\\n,")
        for name in ("feature_costs.arff", "feature_runstatus.arff", "cv.arff")
    }
    scenario = Scenario.read(written(tmp_path, cut))
    assert scenario.feature_cost.tolist() == [0.0, 2.5]
    assert [STATUSES[s] for s in scenario.feature_steps[0].statuses] == ["unknown", "timeout"]
    assert scenario.folds is None
    messages = [str(problem) for problem in check_scenario(tmp_path)]
    for name in cut:
        assert f"{name}, instance_id: 1 instances have no row" in messages
    assert "cv.arff, fold: 1 instances have no fold; folds unused" in messages


def test_a_folder_without_a_scenario_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="has no ASlib files"):
        Scenario.read(tmp_path)
    with pytest.raises(ScenarioError, match="is not a folder"):
        Scenario.read(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ScenarioError, match="is not a folder"):
        Scenario.read(tmp_path / "file")


@pytest.mark.parametrize("name", ["description.txt", "algorithm_runs.arff", "feature_values.arff"])
def test_required_files_are_required(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=f"{name}: this file is missing"):
        Scenario.read(written(tmp_path, {name: None}))


def test_empty_files_and_tables_are_errors() -> None:
    files = {name: text.encode() for name, text in FILES.items()}
    for name in FILES:
        problems = Problems()
        assert build(files | {name: b""}, problems) is None
        assert problems.errors
    header = RUNS[: RUNS.index("@DATA") + 6].encode()
    problems = Problems()
    assert build(files | {"algorithm_runs.arff": header}, problems) is None
    assert "has no runs" in str(problems.errors[0])


def test_without_pyyaml_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tailcut\[aslib\]'"):
        Scenario.read(written(tmp_path))


def test_repetitions_are_combined_by_cell() -> None:
    """What is not known does not count; of statuses as frequent as each other the first one does."""
    cells = np.array([0, 1, 0, 1, 1])
    median = _median(cells, np.array([1.0, 5.0, 2.0, np.nan, 9.0]), 3)
    np.testing.assert_array_equal(median, [1.5, 7.0, math.nan])
    mean = _mean(np.array([0, 0, 1]), np.array([1.0, 2.0, np.nan]), 2)
    np.testing.assert_array_equal(mean, [1.5, math.nan])
    assert _most_frequent(np.array([0, 0, 0, 1, 1]), np.array([2, 1, 1, 3, 2]), 2, 4).tolist() == [1, 3]
    assert _doubles(np.array([0, 1, 0, 0]), np.array([1, 1, 2, 1])) == [3]
    assert _gaps(np.array([5, 1, 1, 2]), 8) == [0, 3, 4, 6, 7]
