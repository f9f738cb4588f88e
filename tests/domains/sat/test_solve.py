"""The program: what it prints and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.domains.domain import is_installed
from tailcut.domains.sat import DOMAIN
from tailcut.domains.sat.answers import Answer, parse_output
from tailcut.domains.sat.cnf import satisfies, write
from tailcut.domains.sat.solve import main, report
from tailcut.domains.sat.solvers import SOLVERS
from tests.domains.sat.small import COMPLETE_HERE, SATISFIABLE, SOLVERS_HERE, UNSATISFIABLE


@pytest.fixture
def satisfiable(tmp_path: Path) -> str:
    write(tmp_path / "sat.cnf.xz", SATISFIABLE)
    return str(tmp_path / "sat.cnf.xz")


@pytest.mark.parametrize("solver", SOLVERS_HERE)
def test_satisfiable(solver: str, satisfiable: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([solver, satisfiable]) == 10
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("s SATISFIABLE\nv ")
    assert printed.out.endswith(" 0\n")
    model = parse_output(printed.out).model
    assert model is not None
    assert satisfies(SATISFIABLE, model)


@pytest.mark.parametrize("solver", COMPLETE_HERE)
def test_unsatisfiable(solver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "unsat.cnf", UNSATISFIABLE)
    assert main([solver, str(tmp_path / "unsat.cnf")]) == 20
    assert capsys.readouterr().out == "s UNSATISFIABLE\n"


@pytest.mark.parametrize("model", [[-1, -2, -3], [1, 2], [], None])
def test_a_wrong_model_is_not_printed(model: list[int] | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(SATISFIABLE, Answer.of(True, model)) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("s UNKNOWN\n", "c wrong model\n")


def test_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(SATISFIABLE, Answer.of(None)) == 0
    assert capsys.readouterr().out == "s UNKNOWN\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["minisat22", "none.cnf"], "none.cnf: cannot be read: No such file or directory"),
        (["nobody", "FILE"], "there is no solver 'nobody'; there are kissat404, "),
        (["minisat22"], "the following arguments are required: FILE"),
        (["minisat22", "FILE", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, satisfiable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([satisfiable if word == "FILE" else word for word in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_a_malformed_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.cnf"
    path.write_text("p cnf 2 1\n1 b 0\n")
    assert main(["ergo", str(path)]) == 2
    assert (
        capsys.readouterr().err == f"tailcut.domains.sat.solve: {path}, line 2: expected integers, got 'b'\n"
    )


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(solver in shown for solver in SOLVERS)


def test_as_a_program_only_the_solver_in_use_is_imported(satisfiable: str) -> None:
    heavy = ["pysat", "pycryptosat", "highspy", "gbdc", "scipy"]
    code = (
        "import sys; from tailcut.domains.sat.solve import main; code = main(sys.argv[1:]); "
        f"print('c', [name for name in {heavy} if name in sys.modules]); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "local_search", satisfiable]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 10, result.stderr
    assert result.stdout.splitlines()[-1] == "c []"


def test_module_call(satisfiable: str) -> None:
    command = [sys.executable, "-m", "tailcut.domains.sat.solve", "minisat22", satisfiable]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (10, "")


def test_the_local_search_can_be_interrupted(tmp_path: Path) -> None:
    write(tmp_path / "unsat.cnf", UNSATISFIABLE)
    code = (
        "import sys, tailcut.domains.sat.warm; from tailcut.domains.sat.solve import main; "
        "print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "local_search", str(tmp_path / "unsat.cnf")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)  # it does not end by itself
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "")
    assert process.returncode == 130


def test_a_run_after_preloading_imports_nothing_more(satisfiable: str) -> None:
    code = f"""
import importlib, sys
for name in {tuple(filter(is_installed, DOMAIN.preload))}: importlib.import_module(name)
before = set(sys.modules)
from tailcut.domains.sat.solve import main
codes = [main([solver, sys.argv[1]]) for solver in {SOLVERS_HERE}]
later = set(sys.modules) - before - {{"_colorize"}}  # of argparse, since Python 3.14
print("c", codes == [10] * len(codes), sorted(later))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, satisfiable], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "c True []"
