"""With `tailcut[cli]` alone: one's own binaries run, and what a command lacks is said before the work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import toy

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

BLOCK = """
import sys
ABSENT = {"pysat", "pycryptosat", "highspy", "gbdc", "yaml", "threadpoolctl", "sklearn", "matplotlib", "dask",
          "distributed", "fastapi", "uvicorn"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
SOLVER = """#!/bin/sh
echo 's SATISFIABLE'
echo 'v 1 2 0'
"""


def bare(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command where no extra but `cli` can be imported."""
    (folder / "bare").mkdir(exist_ok=True)
    (folder / "bare" / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(folder / "bare"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tailcut", *arguments]
    ended = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert ended.returncode == code, ended.stderr
    return ended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solver").write_text(SOLVER)
    (tmp_path / "solver").chmod(0o755)
    (tmp_path / "own.toml").write_text(
        'domain = "sat"\ncutoff = 5\n[solvers.own]\ncommand = "./solver {instance}"'
    )
    (tmp_path / "one.cnf").write_text("p cnf 2 2\n1 2 0\n-1 2 0\n")
    return tmp_path


def test_binaries_of_ones_own_need_only_the_command_line(folder: Path) -> None:
    ended = bare(folder, "run", "own.toml", "one.cnf")
    assert "1 solved" in ended.stdout, ended.stderr
    assert (
        "with features of the files only, for gbdc is not installed: pip install 'tailcut[sat]'"
        in ended.stderr
    )
    assert "problem" not in ended.stderr
    bare(folder, "run", "--check", "own.toml", "one.cnf")


def test_a_solver_that_is_not_installed_is_named_before_the_work(folder: Path) -> None:
    (folder / "own.toml").write_text(
        (folder / "own.toml").read_text()
        + '\n[solvers.kissat]\nentry = "tailcut.domains.sat.solve:main"\n'
        + 'arguments = ["kissat404", "{instance}"]\n'
    )
    said = bare(folder, "run", "own.toml", "one.cnf", code=2).stderr
    assert "the solver kissat needs pysat.solvers: pip install 'tailcut[sat]'" in said
    assert not (folder / "tailcut-run.db").exists()


def test_measure_says_what_it_lacks_before_the_work(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a",), features=False)
    toy.write_instances(tmp_path, {"one": "a 0.01 yes"})
    said = bare(
        tmp_path, "measure", "portfolio.toml", "instances", "--cutoff", "5", "--out", "T", code=2
    ).stderr
    assert "tailcut[aslib]" in said
    assert toy.log(tmp_path) == []


@pytest.mark.parametrize("page", ["sat", "service", "live", "scaling", "report"])
def test_install_lines_bring_the_command_that_follows(page: str) -> None:
    for found in (Path(__file__).parents[2] / "docs").rglob(f"{page}.md"):
        first = re.search(r"pip install 'tailcut\[([\w,]+)\]'", found.read_text())
        assert first is not None
        assert "cli" in first[1].split(",")
