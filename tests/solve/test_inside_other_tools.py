"""`tailcut solve` as the solver of real tools that call one: CBMC, CNFgen and PuLP."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.solve.calls import end_daemons

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

SUM = """
int main() {
  unsigned a, b, n = 0, i;
  __CPROVER_assume(a < 1000 && b < 1000);
  __CPROVER_assert(a * b != 899 || a == 1 || b == 1 || a == 29 || a == 31, "899 is 29 times 31");
  for (i = 0; i < 5; i++) n += i;
  __CPROVER_assert(n == 11, "the sum is 11");
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a tool; the daemon that is started from there is ended."""
    yield tmp_path
    end_daemons(tmp_path)


def script(folder: Path, name: str, domain: str, rest: str = '"$@"', before: str = "") -> Path:
    """Write the script that a tool gets for a solver, as the documentation has it."""
    path = folder / name
    call = f"{sys.executable} -m tailcut solve --domain {domain} --state {folder}/s.db --cutoff 60"
    path.write_text(f"#!/bin/sh\n{before}{call} {rest}\n")
    path.chmod(0o755)
    return path


def cbmc(folder: Path, *options: str, path: str | None = None) -> str:
    program = shutil.which("cbmc")
    if program is None:
        pytest.skip("cbmc is not installed: apt install cbmc (Debian 13 and later)")
    (folder / "sum.c").write_text(SUM)
    environment = None if path is None else {"PATH": path}
    ended = subprocess.run(
        [program, "sum.c", *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 10, ended.stdout + ended.stderr
    return ended.stdout


def test_cbmc_with_a_sat_solver(folder: Path) -> None:
    pytest.importorskip("pysat", reason="needs the extra sat")
    found = cbmc(folder, "--external-sat-solver", str(script(folder, "solver", "sat")))
    assert "899 is 29 times 31: SUCCESS" in found
    assert "the sum is 11: FAILURE" in found


def test_cbmc_with_an_smt_solver(folder: Path) -> None:
    pytest.importorskip("cvc5", reason="needs the extra smt")
    script(folder, "z3", "smt", rest='"$file"', before="for file; do :; done\nPATH=${PATH#*:}\n")
    found = cbmc(folder, "--z3", path=f"{folder}:/usr/bin:/bin")
    assert "899 is 29 times 31: SUCCESS" in found
    assert "the sum is 11: FAILURE" in found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves its process to gc
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_cnfgen(folder: Path) -> None:
    cnfgen = pytest.importorskip("cnfgen", reason="CNFgen is not installed: pip install cnfgen")
    pytest.importorskip("pysat", reason="needs the extra sat")
    command = str(script(folder, "solver", "sat"))
    assert cnfgen.PigeonholePrinciple(5, 4).solve(cmd=command, sameas="cadical") == (False, None)
    satisfiable, model = cnfgen.PigeonholePrinciple(4, 4).solve(cmd=command, sameas="cadical")
    assert satisfiable
    assert sum(literal > 0 for literal in model) == 4
    gc.collect()  # its warning belongs here, not to the next test


CBC = """file=$1
while [ "$1" != -solution ]; do shift; done
"""
AS_CBC = r""""$file" | sed 's/^ .*/& 0/; s/^[IU][a-z]*$/& - objective value 0/' > "$2" """


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pulp(folder: Path) -> None:
    pulp = pytest.importorskip("pulp", reason="needs the extra mip")
    command = script(folder, "cbc", "mip", rest=AS_CBC, before=CBC)
    problem = pulp.LpProblem("most", pulp.LpMaximize)
    x = [pulp.LpVariable(f"x{number}", 0, 3, cat="Integer") for number in range(4)]
    problem += pulp.lpSum(number * one for number, one in enumerate(x, 1))
    problem += pulp.lpSum(x) <= 5
    solver = pulp.COIN_CMD(path=str(command), msg=False)
    assert pulp.LpStatus[problem.solve(solver, use_mps=False)] == "Optimal"
    assert [one.value() for one in x] == [0, 0, 2, 3]
    problem += pulp.lpSum(x) >= 20
    assert pulp.LpStatus[problem.solve(solver, use_mps=False)] == "Infeasible"
