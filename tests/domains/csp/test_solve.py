"""FlatZinc is read, CP-SAT and Gecode agree on each constraint, and wrong solutions are refuted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.domains.csp import DOMAIN
from tailcut.domains.csp.answers import extract, parse_solution_lines, refuted
from tailcut.domains.csp.solve import Constraint, Var, main, parse_flatzinc, solved
from tailcut.domains.domain import find_program
from tailcut.errors import InputError
from tailcut.live.instances import instances_in

needs_minizinc = pytest.mark.skipif(
    find_program("minizinc") is None or find_program("fzn-gecode") is None,
    reason="MiniZinc and Gecode are not installed: apt install minizinc flatzinc",
)
OPTIMAL, UNSATISFIABLE = (tiny.path for tiny in DOMAIN.check)
MODELS = [
    "var -3..3: x; var -5..5: y; constraint y = abs(x) - 1; constraint "
    "x * y = -2 \\/ x * y = 6; solve maximize x - y;",
    "var 1..9: x; var 1..9: y; constraint x div y = 2; constraint x mod y = 1; solve maximize x;",
    "var {1,4,7}: x; var 0..9: y; constraint y in {2,3,5} <-> x > 3; "
    "constraint y > 5 \\/ x = 7; solve minimize y;",
    "array[1..3] of var 0..4: a; var 1..3: i; constraint a[i] = 4; "
    "constraint sum(a) <= 5; solve maximize max(a) + a[1];",
    "var bool: p; var bool: q; var bool: r; constraint p xor q; "
    "constraint (p /\\ r) <-> not q; solve maximize bool2int(r);",
    "var 0..3: x; constraint x > 1; constraint x < 2; solve satisfy;",
]


def cp_sat(file: Path) -> subprocess.CompletedProcess[str]:
    """Run CP-SAT in a process of its own: OR-Tools has HiGHS inside and cannot be loaded beside another."""
    command = [sys.executable, "-m", "tailcut.domains.csp.solve", "cp-sat", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_minizinc
@pytest.mark.parametrize("model", MODELS)
def test_gecode_and_cp_sat_agree(model: str, tmp_path: Path) -> None:
    pytest.importorskip("ortools", reason="needs OR-Tools: pip install 'tailcut[csp]'")
    (tmp_path / "m.mzn").write_text(model)
    one = solved("gecode", find_program("fzn-gecode"), tmp_path / "m.mzn")
    other = cp_sat(tmp_path / "m.mzn").stdout
    assert parse_solution_lines(one).get("_objective") == parse_solution_lines(other).get("_objective")
    assert ("UNSATISFIABLE" in one) == ("UNSATISFIABLE" in other)
    assert refuted(tmp_path / "m.mzn", one) is refuted(tmp_path / "m.mzn", other) is None


def test_flatzinc_is_read_and_solved_without_minizinc(tmp_path: Path) -> None:
    pytest.importorskip("ortools", reason="needs OR-Tools: pip install 'tailcut[csp]'")
    text = (
        "array [1..2] of int: c = [1,2];\nvar 0..5: x :: output_var;\nvar bool: b :: output_var;\n"
        "constraint int_lin_le(c, [x, 3], 9);\nconstraint int_le_reif(x, 2, b);\nsolve :: seq maximize x;\n"
    )
    flat = parse_flatzinc(text)
    assert flat.constraints[0] == Constraint("int_lin_le", [[1, 2], [Var("x"), 3], 9])
    (tmp_path / "m.fzn").write_text(text)
    assert cp_sat(tmp_path / "m.fzn").stdout == "x = 3;\nb = false;\n----------\n==========\n"
    (tmp_path / "m.fzn").write_text("var 0..1: x;\nconstraint float_eq(x, 1);\nsolve satisfy;\n")
    refused = cp_sat(tmp_path / "m.fzn")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is not given the constraint float_eq" in refused.stderr
    with pytest.raises(InputError, match="line 1: cannot be read as FlatZinc"):
        parse_flatzinc("var 0.0..1.0: x;")


@needs_minizinc
def test_a_wrong_solution_is_refuted() -> None:
    assert refuted(OPTIMAL, "x = 5;\ny = 3;\n_objective = 8;\n----------\n==========\n") is None
    assert (
        refuted(OPTIMAL, "x = 5;\ny = 5;\n_objective = 10;\n----------\n") == "no solution has these values"
    )
    assert refuted(OPTIMAL, "x = 5;\ny = 3;\n_objective = 9;\n----------\n") == "the objective is 8, not 9"
    assert refuted(UNSATISFIABLE, "=====UNSATISFIABLE=====\n") is None


@needs_minizinc
def test_data_are_instances_of_the_model_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.mzn").write_text("int: n; var 1..n: x; solve maximize x;")
    (tmp_path / "d.dzn").write_text("n = 7;")
    given = instances_in([str(tmp_path)], DOMAIN.instances, models=DOMAIN.models)
    assert [one.path.name for one in given] == ["d.dzn"]
    assert main(["gecode", str(find_program("fzn-gecode")), str(tmp_path / "d.dzn")]) == 0
    assert "_objective = 7;" in capsys.readouterr().out
    assert main(["gecode", str(find_program("fzn-gecode")), str(tmp_path / "m.mzn")]) == 2
    assert "MiniZinc says" in capsys.readouterr().err
    assert extract(tmp_path / "d.dzn").keys() == extract(OPTIMAL).keys()
