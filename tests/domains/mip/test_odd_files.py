"""What real files of other projects have and generated ones have not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut.domains.mip.answers import verify
from tailcut.domains.mip.mps import parse_mps, read_program
from tailcut.domains.mip.solve import main
from tailcut.errors import InputError

BLANKS = """NAME          blanks
ROWS
 N  COST
 L  ROW 1
 G  ROW 2
COLUMNS
    A 1       COST             1.0     ROW 1            1.0
              ROW 2           1.D0
    A 2       COST            -2.0     ROW 1            1.0
RHS
              ROW 1            4.0     ROW 2            1.0
BOUNDS
 UP           A 2              3.0
ENDATA
"""
SQUARES = "Minimize\n obj: x + [ 2 x ^ 2 ] / 2\nSubject To\n c: x >= 1\nEnd\n"
SEMI = "Minimize\n obj: x\nSubject To\n c: x >= 0\nBounds\n 2 <= x <= 8\nSemi-continuous\n x\nEnd\n"


def test_names_with_blanks_and_lines_without_names() -> None:
    program = parse_mps(BLANKS)
    assert program.names == ("A 1", "A 2")
    assert program.cost.tolist() == [1.0, -2.0]
    assert program.activity(np.array([1.0, 3.0])).tolist() == [4.0, 1.0]
    assert program.upper.tolist() == [np.inf, 3.0]


@pytest.mark.parametrize("solver", ["cbc", "glpk"])
def test_their_solutions_are_printed_and_checked(
    solver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip({"cbc": "pulp", "glpk": "swiglpk"}[solver], reason="needs the extra mip")
    (tmp_path / "blanks.mps").write_text(BLANKS)
    assert main([solver, str(tmp_path / "blanks.mps")]) == 0
    printed = capsys.readouterr().out
    assert printed == "Optimal - objective value -5\n      0 A_1 1\n      1 A_2 3\n"
    (tmp_path / "output").write_text(printed)
    assert verify([str(tmp_path / "blanks.mps"), str(tmp_path / "output")]) == 0
    (tmp_path / "output").write_text(printed.replace("A_2 3", "A_2 2"))
    assert verify([str(tmp_path / "blanks.mps"), str(tmp_path / "output")]) == 1


def test_remarks_at_the_end_of_a_line() -> None:
    text = BLANKS.replace("ROW 1            4.0", "ROW 1            4.0 ").replace(
        " 3.0\n", " 3.0 $ at most\n"
    )
    assert parse_mps(text).upper.tolist() == [np.inf, 3.0]


def test_what_is_no_number_is_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line 6: .*nan is no number"):
        parse_mps("NAME x\nROWS\n N cost\n L a\nCOLUMNS\n x cost nan a 1\nENDATA\n")


@pytest.mark.parametrize("text", [SQUARES, SEMI])
def test_programs_that_are_not_linear_are_refused_but_answers_to_them_are_not(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("highspy", reason="needs the extra mip")
    path = tmp_path / "p.lp"
    path.write_text(text)
    with pytest.raises(InputError, match="squares or semi-continuous"):
        read_program(path)
    (tmp_path / "output").write_text("Optimal - objective value 2\n 0 x 1\n")
    assert verify([str(path), str(tmp_path / "output")]) == 0
    assert "not checked" in capsys.readouterr().err
    assert verify([str(tmp_path / "none.lp"), str(tmp_path / "output")]) == 2


def test_an_lp_file_without_variables(tmp_path: Path) -> None:
    pytest.importorskip("highspy", reason="needs the extra mip")
    (tmp_path / "empty.lp").write_text("Minimize\n obj:\nSubject To\nEnd\n")
    assert read_program(tmp_path / "empty.lp").names == ()


def test_the_values_of_cbc_have_all_their_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pulp", reason="needs the extra mip")
    path = tmp_path / "digits.lp"
    path.write_text("Minimize\n obj: x\nSubject To\n a: 3 y = 100000000\n b: 1000 y - x = 0\nEnd\n")
    assert main(["cbc", str(path)]) == 0
    printed = capsys.readouterr().out
    assert float(printed.split()[4]) == pytest.approx(1e11 / 3, rel=1e-11)
    (tmp_path / "output").write_text(printed)
    assert verify([str(path), str(tmp_path / "output")]) == 0


def test_whole_variables_without_bounds_are_zero_or_one(tmp_path: Path) -> None:
    highspy = pytest.importorskip("highspy", reason="compared with HiGHS: pip install 'tailcut[mip]'")
    mark = "    MARKER                 'MARKER'                 'INTORG'\n"
    rows = "NAME x\nROWS\n N cost\n L a\nCOLUMNS\n"
    columns = "    x         cost              -1.0   a                  1.0\n"
    columns += "    y         cost              -1.0   a                  1.0\n"
    bounds = "BOUNDS\n LO BND       y         0.0\nENDATA\n"
    text = f"{rows}{mark}{columns}RHS\n    RHS       a                  9.0\n{bounds}"
    (tmp_path / "whole.mps").write_text(text)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(tmp_path / "whole.mps"))
    assert parse_mps(text).upper.tolist() == list(solver.getLp().col_upper_) == [1.0, np.inf]
