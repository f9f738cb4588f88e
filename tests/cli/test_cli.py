"""The command as a user runs it: in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut import CATALOGUE, __version__
from tailcut.policies.hindsight import LINES


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailcut.cli", *arguments], capture_output=True, text=True, timeout=120
    )


def test_selectors_lists_every_name_with_parts_and_hyperparameters() -> None:
    rows = json.loads(run("selectors", "--json").stdout)
    assert {row["name"] for row in rows} == {*CATALOGUE, *LINES}
    by_name = {row["name"]: row for row in rows}
    assert by_name["rand_bclinucb_rev"]["parts"] == {
        "representation": "paper",
        "model": "RidgeBank",
        "target": "LogSeconds",
        "censoring": "AtCutoff",
        "exploration": "Bounds(bias_corrected=True)",
        "loss": "ExpectedPar",
        "first_runs": "FirstRuns",
    }
    assert by_name["rand_bclinucb_rev"]["hyperparameters"]["rand_sigma"] == 0.5
    assert by_name["oracle"]["kind"] == by_name["sbs_pair"]["kind"] == "hindsight"
    assert by_name["round_robin"]["kind"] == "schedule"
    assert by_name["round_robin"]["parts"] == {"representation": "none", "policy": "RoundRobin"}
    assert "| `round_robin` | schedule | " in run("selectors", "--markdown").stdout


def test_selectors_as_a_table_names_them_all() -> None:
    shown = run("selectors").stdout
    assert all(name in shown for name in CATALOGUE)
    assert "round_robin (schedule)" in shown


def test_demo_runs_live_replays_and_leaves_a_report(tmp_path: Path) -> None:
    small = ("demo", "--instances", "4", "--seeds", "1", "--jobs", "2", "--out", str(tmp_path / "demo"))
    told = json.loads(run(*small, "--json").stdout)
    assert told["live"]["count"] == 4
    assert told["live"]["seconds"] > 0.0
    assert len(told["alone"]) == 9
    cost = {row["selector"]: row["par10_mean"] for row in told["replay"]}
    assert cost["oracle"] <= cost["tailcut"] < cost["random"]
    assert "<html" in Path(told["report"]).read_text(encoding="utf-8")[:500]
    again = run(*small)  # the same folder: what was replayed is not replayed again, the live part is new
    words = " ".join(again.stdout.split())
    assert "which nobody knows beforehand" in words
    assert "less" in words or "more" in words


def test_version_and_help() -> None:
    assert run("--version").stdout == f"tailcut {__version__}\n"
    for command in ([], ["demo"], ["selectors"]):
        result = run(*command, "--help")
        assert result.returncode == 0
        assert "Usage" in result.stdout


@pytest.mark.parametrize("arguments", [["demo", "--instances", "0"], ["demo", "--seeds", "x"], ["nonsense"]])
def test_wrong_calls_end_with_code_2_and_no_traceback(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr


def test_without_its_extra_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom tailcut.cli import main\nmain()\n"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "pip install 'tailcut[cli]'" in result.stderr


def test_importing_the_package_pulls_in_no_optional_dependency() -> None:
    code = (
        "import sys, tailcut\n"
        "print(sorted({'sklearn', 'typer', 'rich', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]"
