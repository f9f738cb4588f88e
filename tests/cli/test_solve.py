"""The options of `tailcut solve`: read quickly or by Typer, they mean the same."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from tailcut.cli import SOLVE_DEFAULTS, quick_options, solve
from tests.cli.conftest import run


def test_both_ways_to_read_options_know_the_same() -> None:
    known = inspect.signature(solve.command).parameters
    assert {name: one.default.default for name, one in known.items()} == SOLVE_DEFAULTS


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--domain"],
        ["--domain", "sat", "a.cnf", "b.cnf"],
        ["--domain", "sat", "--seed", "x", "a.cnf"],
        ["--domain", "sat", "--cutoff", "0", "a.cnf"],
        ["--domain", "sat", "--unknown", "a.cnf"],
        ["--domain", "sat", "-x"],
        ["--domain", "sat", "--portfolio", "p.toml", "a.cnf"],
        ["--domain", "sat", "--stop=yes"],
        ["a.cnf"],
    ],
)
def test_what_is_not_simple_is_left_to_typer(words: list[str]) -> None:
    assert quick_options(words) is None


def test_what_is_simple_is_read() -> None:
    given = quick_options(["--domain=sat", "--cutoff", "2.5", "--seed=3", "a.cnf"])
    assert given == {**SOLVE_DEFAULTS, "domain": "sat", "cutoff": 2.5, "seed": 3, "file": "a.cnf"}
    assert quick_options(["--domain", "sat", "-"]) == {**SOLVE_DEFAULTS, "domain": "sat"}
    assert quick_options(["--state", "s.db", "--stop"]) == {**SOLVE_DEFAULTS, "state": "s.db", "stop": True}


def test_help_is_there() -> None:
    assert "Exit" not in run("solve", "--help").stderr
    assert "--state" in run("solve", "--help").stdout


def test_a_call_imports_next_to_nothing() -> None:
    code = (
        "import sys\nsys.argv = ['tailcut', 'solve', '--domain', 'sat', '--state', '/nowhere/s.db', 'x']\n"
        "from tailcut.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'typer', 'asyncio', 'subprocess', 'argparse', 'pathlib'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "[]"
