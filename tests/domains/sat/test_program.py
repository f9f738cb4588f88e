"""SAT solvers on the PATH speak the words of SAT competitions, MiniSat among them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.domains.domain import find_program
from tailcut.domains.sat import DOMAIN
from tailcut.domains.sat.answers import refuted, verify
from tailcut.live.portfolio import read_portfolio

SAT, UNSAT = (tiny.path for tiny in DOMAIN.check)
PROGRAM = "import sys; from tailcut.domains.sat.solve import run_program; sys.exit(run_program(sys.argv[1:]))"
WAYS = [way for solver in DOMAIN.solvers for way in solver.ways if way.program is not None]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.program)
def test_programs_on_the_path(way, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = find_program(way.program)
    if program is None:
        pytest.skip(f"{way.program} is not installed" + (f": {way.install}" if way.install else ""))
    packed = tmp_path / "packed.cnf.gz"
    packed.write_bytes(gzip.compress(SAT.read_bytes()))
    for path, code in ((SAT, 10), (UNSAT, 20), (packed, 10)):
        words = [
            word.replace("{program}", program).replace("{instance}", str(path)) for word in way.arguments
        ]
        command = [sys.executable, "-c", PROGRAM, *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert ("s SATISFIABLE" if code == 10 else "s UNSATISFIABLE") in ended.stdout.splitlines()
        assert refuted(path, ended.stdout) is None


def test_an_answer_to_a_file_that_is_not_read_here_stands(tmp_path: Path) -> None:
    (tmp_path / "xor.cnf").write_text("p cnf 2 1\nx1 2 0\n")
    (tmp_path / "output").write_text("s SATISFIABLE\nv 1 -2 0\n")
    assert verify([str(tmp_path / "xor.cnf"), str(tmp_path / "output")]) == 0


@pytest.mark.parametrize("command", ['"minisat {instance}"', '["minisat", "-rnd-seed={seed}", "{instance}"]'])
def test_a_plain_command_of_a_program_that_the_domain_knows(command: str, tmp_path: Path) -> None:
    if find_program("minisat") is None:
        pytest.skip("minisat is not installed: apt install minisat")
    file = tmp_path / "p.toml"
    file.write_text(f'domain = "sat"\ncutoff = 10\n[solvers.mine]\ncommand = {command}\n')
    for path, code in ((SAT, 10), (UNSAT, 20)):
        call = [sys.executable, "-m", "tailcut", "solve", "--portfolio", str(file), "--keep", "1", str(path)]
        ended = subprocess.run(call, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert refuted(path, ended.stdout) is None


def test_a_command_with_answers_of_its_own_is_left_alone(tmp_path: Path) -> None:
    if find_program("minisat") is None:
        pytest.skip("minisat is not installed: apt install minisat")
    file = tmp_path / "p.toml"
    text = 'domain = "sat"\n[solvers.mine]\ncommand = "minisat {instance}"\n'
    file.write_text(text + "answers.SATISFIABLE.exit_code = 10\n")
    assert read_portfolio(file).solvers["mine"].program.entry is None
    file.write_text(text)
    assert read_portfolio(file).solvers["mine"].program.entry == "tailcut.domains.sat.solve:run_program"
