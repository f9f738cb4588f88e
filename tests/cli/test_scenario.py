"""``tailcut scenario``, as a user calls it."""

from __future__ import annotations

import http.server
import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tailcut.cli.app import run
from tailcut.cli.scenario import fetch_command
from tailcut.scenarios import Scenario
from tailcut.scenarios.fetch import MAX_BYTES, MAX_SECONDS


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """Run the command line in this process and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["tailcut", "scenario", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)


def test_info_tells_the_scenario(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "info", small_folder, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "small",
        "instances": 3,
        "features": 2,
        "algorithms": 2,
        "cutoff": 100.0,
        "timeouts_mean": 0.5,
        "timeouts_median": 0.5,
        "timeouts_min": pytest.approx(1 / 3),
        "timeouts_max": pytest.approx(2 / 3),
        "sbs": "b",
        "sbs_par10": pytest.approx((100.0 + 8.0 + 1000.0) / 3),
        "vbs_par10": pytest.approx((1.5 + 8.0 + 1000.0) / 3),
        "feature_costs": True,
        "feature_cost_mean": pytest.approx(2.25),
    }
    assert call(monkeypatch, "info", small_folder) == 0
    shown = capsys.readouterr().out
    assert "cutoff         100 s" in shown
    assert "SBS            b, PAR10 369.33 s" in shown
    assert "mean 50.0%, median 50.0%, min 33.3%, max 66.7% over algorithms" in shown
    assert "feature costs  2.25 s on average" in shown


def test_a_scenario_is_found_by_name_where_bench_looks(
    small: Scenario,
    small_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TAILCUT_ASLIB", raising=False)
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "info", "TAILCUT-SAT-2026", "--json") == 0
    assert json.loads(capsys.readouterr().out)["instances"] == 360
    assert call(monkeypatch, "info", "CPMP-2015") == 2
    said = capsys.readouterr().err
    for way in ("--aslib", "TAILCUT_ASLIB", "tailcut scenario fetch CPMP-2015"):
        assert way in said
    small.write(tmp_path / "all" / "SMALL-2026")
    monkeypatch.setenv("TAILCUT_ASLIB", str(tmp_path / "all"))
    assert call(monkeypatch, "info", "SMALL-2026", "--json") == 0
    assert json.loads(capsys.readouterr().out)["instances"] == 3
    assert call(monkeypatch, "info", "SMALL-2025") == 2
    assert "did you mean 'SMALL-2026'?" in capsys.readouterr().err


def test_list_names_what_is_bundled_and_what_is_in_the_folder(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TAILCUT_ASLIB", raising=False)
    assert call(monkeypatch, "list") == 0
    said = capsys.readouterr()
    assert said.out.startswith("TAILCUT-SAT-2026  ")
    assert "TAILCUT_ASLIB" in said.err
    small.write(tmp_path / "SMALL-2026")
    assert call(monkeypatch, "list", "--aslib", tmp_path, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["TAILCUT-SAT-2026", "SMALL-2026"]
    assert rows[1]["folder"] == str(tmp_path / "SMALL-2026")


def test_validate_says_valid_and_warns(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "check", small_folder) == 0
    assert capsys.readouterr().out == f"{small_folder}: valid\n"
    (small_folder / "feature_runstatus.arff").unlink()
    assert call(monkeypatch, "check", small_folder) == 0
    assert "  warning: feature_runstatus.arff: this file is missing" in capsys.readouterr().out


def test_validate_ends_with_1_if_one_of_many_is_invalid(
    small: Scenario,
    small_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small.write(tmp_path / "bad")
    path = tmp_path / "bad" / "algorithm_runs.arff"
    path.write_text(path.read_text().replace("1.5", "soon").replace("8.0", "later"))
    assert call(monkeypatch, "check", small_folder, tmp_path / "bad") == 1
    shown = capsys.readouterr().out
    assert f"{small_folder}: valid\n" in shown
    assert "error: algorithm_runs.arff, line 10, runtime: expected a number or ?, got 'soon'" in shown
    assert "error: algorithm_runs.arff, line 13, runtime: expected a number or ?, got 'later'" in shown
    assert call(monkeypatch, "check", small_folder, tmp_path / "bad", "--json") == 1
    first, second = json.loads(capsys.readouterr().out)
    assert (first["valid"], first["problems"]) == (True, [])
    assert not second["valid"]
    assert second["problems"][0] == {
        "file": "algorithm_runs.arff",
        "line": 10,
        "field": "runtime",
        "message": "expected a number or ?, got 'soon'",
        "severity": "error",
    }


def test_validate_shows_a_limited_number_to_people(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_folder / "cv.arff").write_text(
        "@RELATION cv\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
        "@ATTRIBUTE fold NUMERIC\n@DATA\n" + "".join(f"i1,{i},x\n" for i in range(1, 101))
    )
    assert call(monkeypatch, "check", small_folder) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 52
    assert "more (all with --json)" in shown[-1]


def test_wrong_calls_end_with_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("check", tmp_path / "none"), ("info", tmp_path / "none"), ("fetch", "../x")):
        assert call(monkeypatch, *arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("tailcut: ")
        assert said.err.count("\n") == 1
    assert call(monkeypatch, "check") == 2


def test_from_csv_writes_a_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, features = tmp_path / "runs.csv", tmp_path / "features.csv"
    runs.write_text(
        'instance,algorithm,runtime\n"a, b",x,1\n"a, b",y,\nc,x,11\nc,y,10\n', encoding="utf-8-sig"
    )
    features.write_text('instance, size ,kind\nc,1,\n\n"a, b",2,3\n')
    wanted = (
        "--runs",
        runs,
        "--features",
        features,
        "--cutoff",
        "10",
        "--name",
        "n",
        "--out",
        tmp_path / "n",
    )
    assert call(monkeypatch, "from-csv", *wanted) == 0
    assert "2 instances, 2 algorithms, 2 features" in capsys.readouterr().out
    scenario = Scenario.read(tmp_path / "n")
    assert scenario.instances == ("a, b", "c")
    assert scenario.solved.tolist() == [[True, False], [False, True]]
    assert scenario.feature_names == ("size", "kind")
    assert call(monkeypatch, "check", tmp_path / "n") == 0
    assert call(monkeypatch, "from-csv", *wanted) == 2
    assert "already holds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("runs", "features", "message"),
    [
        ("", "instance\ni", "runs.csv: is empty"),
        ("instance,algorithm,runtime\ni,a\n", "instance\ni", "runs.csv, line 2: expected 3 cells, got 2"),
        ("instance,instance\ni,a\n", "instance\ni", "columns of runs.csv[1] repeats 'instance'"),
        ("instance,algorithm\ni,a\n", "instance\ni", "runs.csv, runtime: this column is missing"),
        (
            "instance,algorithm,runtime\ni,a,x\n",
            "instance\ni",
            "runs.csv, line 2, runtime: expected a number or ?, got 'x'",
        ),
        ("instance,algorithm,runtime\ni,a,1\n", None, "features.csv: cannot be read: No such file"),
        ("instance,algorithm,runtime\ni,a,1\n", 'instance\n"i', "features.csv, line 2: is not a CSV file"),
        (
            "instance,algorithm,runtime\ni,a,1\n",
            "instance\n\udcff",
            "features.csv, line 2: byte 0xff is not UTF-8 text",
        ),
        # Lines are those of an editor: empty ones and those within quotes count.
        (
            'instance,algorithm,runtime\n\n"i\n2",a,1\ni,a,-1\n',
            "instance\ni",
            "runs.csv, line 5, runtime: expected the seconds of an ok run, a finite number >= 0, got '-1'",
        ),
        (
            "instance,algorithm,runtime\ni,a,1\ni,a,2\n",
            "instance\ni",
            "runs.csv, line 3, repetition: this instance, repetition and algorithm already had a row",
        ),
        (
            "instance,algorithm,runtime\ni,a,1\nj,a,2\nj,b,2\n",
            "instance\ni",
            "runs.csv, algorithm: no run of 'b' on 'i'",
        ),
        (
            "instance,algorithm,runtime,status\ni,a,1,ok\ni,b,1,fine\n",
            "instance\ni",
            "runs.csv, line 3, status: expected one of ok, ",
        ),
        (
            "instance,algorithm,runtime\ni,a,1\n",
            "instance,f\ni,1e999\n",
            "features.csv, line 2, f: '1e999' is not finite",
        ),
        (
            "instance,algorithm,runtime\ni,a,1\n",
            "instance\ni\nk\n",
            "features.csv, line 3, instance: 'k' has no algorithm runs",
        ),
        (
            "instance,algorithm,runtime\ni,a,1\n",
            "instance\ni\ni\n",
            "features.csv, line 3, repetition: this instance and repetition already had a row",
        ),
    ],
)
def test_from_csv_names_what_is_wrong(
    runs: str,
    features: str | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "runs.csv").write_text(runs)
    if features is not None:
        (tmp_path / "features.csv").write_bytes(features.encode(errors="surrogateescape"))
    monkeypatch.chdir(tmp_path)
    wanted = (
        "--runs",
        "runs.csv",
        "--features",
        "features.csv",
        "--cutoff",
        "5",
        "--name",
        "n",
        "--out",
        "n",
    )
    assert call(monkeypatch, "from-csv", *wanted) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "n").exists()


@contextmanager
def _server_of(folder: Path) -> Iterator[str]:
    """Serve the files of a folder and give the address."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = partial(quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _fetch(url: str, to: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailcut", "scenario", "fetch", "small"]
    return subprocess.run(
        [*command, "--base-url", url, "--to", str(to), *options], capture_output=True, text=True, timeout=60
    )


def test_the_real_command_fetches_no_more_than_it_may(
    small_folder: Path, small_files: dict[str, bytes], tmp_path: Path
) -> None:
    size = sum(map(len, small_files.values()))
    with _server_of(small_folder.parent) as url:
        refused = _fetch(url, tmp_path, "--max-megabytes", str((size - 1) / 1e6))
        assert refused.returncode == 2
        assert "larger than the limit" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        assert _fetch(url, tmp_path, "--max-megabytes", str(size / 1e6)).returncode == 0


def test_the_real_command_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    """The server sends a byte now and then, so it is never silent."""

    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.05)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        stopped = _fetch(f"http://127.0.0.1:{server.server_port}", tmp_path, "--max-seconds", "0.5")
        server.shutdown()
        thread.join()
    assert stopped.returncode == 2
    assert "not fetched within" in stopped.stderr


def test_help_names_the_limits_that_hold() -> None:
    parameters = inspect.signature(fetch_command).parameters
    assert parameters["max_megabytes"].default.default * 1e6 == MAX_BYTES
    assert parameters["max_seconds"].default.default == MAX_SECONDS


def test_the_real_command_fetches_and_reads(small: Scenario, small_folder: Path, tmp_path: Path) -> None:
    with _server_of(small_folder.parent) as url:
        done = _fetch(url, tmp_path / "got")
    assert (done.returncode, done.stderr) == (0, "")
    assert Scenario.read(done.stdout.strip()) == small
