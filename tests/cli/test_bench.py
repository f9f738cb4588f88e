"""``tailcut bench`` as a user runs it: killed, interrupted, called wrongly, resumed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailcut.bench.store import opened
from tailcut.cli.app import app
from tailcut.errors import InputError
from tests.bench.conftest import write_scenario
from tests.bench.result_files import SELECTORS, content_of
from tests.leftovers import none_of_session, of_session


def _bench(generated: Path, out: Path, *more: str) -> list[str]:
    options = [option for name in SELECTORS for option in ("--selector", name)]
    command = [sys.executable, "-m", "tailcut", "bench", "--aslib", str(generated), "--out", str(out)]
    return [*command, *options, "--seeds", "6", "--jobs", "2", "--json", *more]


@pytest.mark.slow
def test_killed_five_times_the_file_equals_an_undisturbed_one(generated: Path, tmp_path: Path) -> None:
    write_scenario(generated, "LONG", n_instances=600, seed=9)
    straight, disturbed = tmp_path / "straight.db", tmp_path / "disturbed.db"
    subprocess.run(_bench(generated, straight), check=True, capture_output=True, timeout=300)
    kept = 0
    for attempt in range(1, 6):
        process = subprocess.Popen(
            _bench(generated, disturbed),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_cells(disturbed, more_than=kept + 2 * attempt, process=process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with opened(disturbed) as store:
            assert len(store.done()) >= kept, "a finished cell was lost"
            kept = len(store.done())
    assert kept < 96, "the kills must come before the end"
    subprocess.run(_bench(generated, disturbed), check=True, capture_output=True, timeout=300)
    assert content_of(disturbed) == content_of(straight)


def _wait_for_cells(path: Path, more_than: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the file holds more than so many cells, or the process has ended."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():
            try:
                with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
                    (count,) = db.execute("SELECT count(*) FROM cells").fetchone()
                if count > more_than:
                    return
            except sqlite3.Error:
                pass  # not yet set up
        time.sleep(0.01)


def test_ctrl_c_ends_at_once_and_keeps_what_is_done(generated: Path, tmp_path: Path) -> None:
    write_scenario(generated, "LONG", n_instances=3000, seed=9)
    out = tmp_path / "r.db"
    process = subprocess.Popen(
        _bench(generated, out),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for_cells(out, more_than=3, process=process)  # type: ignore[arg-type]
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "again" in errors
    with opened(out) as store:
        assert len(store.done()) > 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed_alone_it_leaves_no_process_behind(generated: Path, tmp_path: Path, number: int) -> None:
    write_scenario(generated, "LONG", n_instances=3000, seed=9)
    out = tmp_path / "r.db"
    process = subprocess.Popen(
        _bench(generated, out), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _wait_for_cells(out, more_than=3, process=process)
    assert len(of_session(process.pid)) > 2, "it has workers"
    process.send_signal(number)
    code = process.wait(timeout=60)
    assert none_of_session(process.pid), "workers outlived the command"
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert "Traceback" not in errors
    if number != signal.SIGKILL:
        assert code == 130
        assert "stopped; completed work is kept" in errors
    with opened(out) as store:
        assert len(store.done()) > 3


def test_a_hangup_does_not_stop_it_under_nohup(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.db"
    command = ["nohup", *_bench(generated, out, "--jobs", "1", "--scenario", "ALPHA")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _wait_for_cells(out, more_than=1, process=process)
        process.send_signal(signal.SIGHUP)
        printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(json.loads(printed)) == len(SELECTORS)


def test_the_command_prints_one_object_per_scenario_and_selector(generated: Path, tmp_path: Path) -> None:
    result = subprocess.run(_bench(generated, tmp_path / "r.db"), capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert len(rows) == 12
    assert set(rows[0]) == {
        "scenario",
        "selector",
        "kind",
        "seeds",
        "par10_mean",
        "par10_std",
        "repar10",
        "npar10",
        "npar10_train",
        "unsolved",
        "decision_us",
        "extra_cpu",
        "cpu_seconds",
    }
    sbs = [row for row in rows if row["selector"] == "sbs"]
    assert all(row["npar10"] == pytest.approx(1.0) and row["par10_std"] < 1e-9 for row in sbs)
    table = subprocess.run(
        [part for part in _bench(generated, tmp_path / "r.db") if part != "--json"],
        capture_output=True,
        text=True,
    )
    assert "72 cells in" in table.stdout
    assert "ALPHA" in table.stdout
    comparison = subprocess.run(
        [sys.executable, "-m", "tailcut", "compare", str(tmp_path / "r.db"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(comparison.stdout)["selectors"]) == set(SELECTORS) - {"sbs"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "NOPE"], "holds no scenario NOPE; it holds: ALPHA, BETA, GAMMA"),
        (["--scenario", "ALPHAS"], "holds no scenario ALPHAS (did you mean 'ALPHA'?); it holds"),
        (["--selector", "nope"], "unknown selector 'nope'; known: thompson, "),
        (["--selector", "thomson"], "unknown selector 'thomson' (did you mean 'thompson'?)"),
        (["--selector", "sbs-pair"], "unknown selector 'sbs-pair' (did you mean 'sbs_pair'?)"),
        (["--plan", "nope"], "unknown plan 'nope'"),
        (["--aslib", "/nonexistent"], "no such folder"),
    ],
)
def test_wrong_calls_are_named(generated: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = subprocess.run(
        _bench(generated, tmp_path / "r.db", *options), capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_cell_stored_under_another_label_is_shown_as_asked_for(generated: Path, tmp_path: Path) -> None:
    """`thompson` and `thompson:noise_variance=1.0` are one cell: 1.0 is the default."""
    out = tmp_path / "r.db"
    command = [sys.executable, "-m", "tailcut", "bench", "--aslib", str(generated), "--out", str(out)]
    command += ["--scenario", "ALPHA", "--seeds", "1", "--jobs", "1", "--json"]
    for label in ("thompson", "thompson:noise_variance=1.0"):
        result = subprocess.run([*command, "--selector", label], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        assert [row["selector"] for row in json.loads(result.stdout)] == [label]
    with opened(out) as store:
        assert len(store.rows()) == 1


def test_a_scenario_that_is_not_bundled_is_asked_for_with_the_ways_to_get_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailcut", "bench", "--scenario", "CPMP-2015", "--out", "r.db"]
    environment = {name: value for name, value in os.environ.items() if name != "TAILCUT_ASLIB"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    for way in ("--aslib", "TAILCUT_ASLIB", "tailcut scenario fetch CPMP-2015"):
        assert way in done.stderr
    assert not (tmp_path / "r.db").exists()


def test_rows_with_and_without_extra_runs_stand_side_by_side(generated: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "r.db")
    command = ["bench", "--aslib", str(generated), "--out", out, "--seeds", "1", "--jobs", "1"]
    command += ["--selector", "thompson", "--selector", "random"]
    plain = CliRunner().invoke(app, [*command, "--json"])
    assert plain.exit_code == 0, plain.output
    table = CliRunner().invoke(app, [*command, "--measure-first", "10", "--measure-cutoff", "0.5"])
    assert table.exit_code == 0, table.output
    assert "extra CPU" in table.stdout
    both = [*command, "--selector", "thompson@measure-first=10,measure-cutoff=0.5", "--json"]
    rows = json.loads(CliRunner().invoke(app, both).stdout)
    extra = {row["selector"]: row["extra_cpu"] for row in rows if row["scenario"] == "ALPHA"}
    assert list(extra) == ["thompson", "random", "thompson@measure-first=10,measure-cutoff=0.5"]
    assert extra["thompson"] == 0.0 < extra["thompson@measure-first=10,measure-cutoff=0.5"]
    compared = CliRunner().invoke(app, ["compare", out, "--json"])
    found = json.loads(compared.stdout)
    assert found["mean_extra_cpu"]["thompson@measure-first=10,measure-cutoff=0.5"] > 0.0
    assert "extra CPU" in CliRunner().invoke(app, ["compare", out]).stdout


def test_cross_validation_reports_both_single_bests_and_learning_on(generated: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "r.db")
    command = ["bench", "--aslib", str(generated), "--out", out, "--seeds", "1", "--jobs", "1"]
    command += ["--selector", "thompson", "--selector", "round_robin", "--protocol", "cv", "--learn-on"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code != 0
    assert "ALPHA: has no folds" in str(refused.exception)
    made = CliRunner().invoke(app, [*command, "--folds", "4", "--json"])
    assert made.exit_code == 0, made.output
    rows = [row for row in json.loads(made.stdout) if row["scenario"] == "BETA"]
    names = [
        *("thompson@cv,folds=4", "thompson@cv,folds=4,learn-on"),
        *("round_robin@cv,folds=4", "round_robin@cv,folds=4,learn-on", "sbs_train@cv,folds=4"),
    ]
    assert [row["selector"] for row in rows] == names
    assert all(row["npar10"] is not None and row["npar10_train"] is not None for row in rows)
    assert rows[-1]["npar10_train"] == pytest.approx(1.0)
    assert rows[-1]["npar10"] >= 1.0 - 1e-9
    assert "train" in CliRunner().invoke(app, [*command, "--folds", "4"]).stdout


def test_folds_need_no_protocol_where_selectors_are_cross_validated(generated: Path, tmp_path: Path) -> None:
    command = ["bench", "--aslib", str(generated), "--out", str(tmp_path / "r.db"), "--scenario", "ALPHA"]
    command += ["--seeds", "1", "--jobs", "1", "--json"]
    chosen = ["--selector", "thompson@cv", "--selector", "round_robin"]
    refused = CliRunner().invoke(app, [*command, *chosen])
    assert "has no folds" in str(refused.exception)
    assert "--folds 10 makes some" in str(refused.exception)
    made = CliRunner().invoke(app, [*command, *chosen, "--folds", "10"])
    assert made.exit_code == 0, made.output
    assert [row["selector"] for row in json.loads(made.stdout)] == ["thompson@cv,folds=10", "round_robin"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--learn-on",), "learn-on"),
        (("--folds", "10"), "folds"),
        (("--measure-cutoff", "0.1"), "measure-first"),
        (("--protocol", "cv", "--measure-first", "5"), "cv"),
        (("--selector", "thompson@measure=1"), "unknown condition 'measure' (did you mean 'measure-first'?)"),
    ],
)
def test_options_that_contradict_each_other_are_named(
    generated: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    command = ["bench", "--aslib", str(generated), "--out", str(tmp_path / "r.db"), *options]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, InputError)
    assert message in str(refused.exception)
