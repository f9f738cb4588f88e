"""MPS files are read as HiGHS reads them, written for all, and solutions are checked."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tailcut.domains.domain import SolverWay, find_solvers
from tailcut.domains.mip import DOMAIN
from tailcut.domains.mip.answers import extract, refuted
from tailcut.domains.mip.mps import dump_mps, parse_mps
from tailcut.domains.mip.solve import main
from tailcut.errors import InputError

FOUND = find_solvers(DOMAIN)
TINY = DOMAIN.check[0].path
CLAIM = "Optimal - objective value 19\n 1 x1 3\n 2 x2 1\n"
EVERYTHING = """NAME          all
OBJSENSE
    MAX
ROWS
 N  cost
 L  a
 G  b
 E  c
 N  free
COLUMNS
    x         cost      3.0   a         1.0
    x         b         1.0   free      1.0
    MARKER                 'MARKER'                 'INTORG'
    y         cost      2.0   a         2.0
    y         c         1.0
    MARKER                 'MARKER'                 'INTEND'
    z         cost     -1.0   c        -1.0
    w         cost      0.5   b        -1.0
RHS
    RHS       a        12.0   b        -3.0
    RHS       cost     -5.0
RANGES
    RNG       a         7.0   c         2.0
BOUNDS
 UP BND       x         4.0
 MI BND       z
 UP BND       z         9.0
 FX BND       w         1.5
 BV BND       y
ENDATA
"""


def test_every_section_is_read_as_highs_reads_it(tmp_path: Path) -> None:
    highspy = pytest.importorskip("highspy", reason="compared with HiGHS: pip install 'tailcut[mip]'")
    (tmp_path / "all.mps").write_text(EVERYTHING)
    ours = parse_mps(EVERYTHING)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(tmp_path / "all.mps"))
    lp = solver.getLp()
    assert tuple(lp.col_names_) == ours.names
    for theirs, our in (
        (lp.col_cost_, ours.cost),
        (lp.col_lower_, ours.lower),
        (lp.col_upper_, ours.upper),
        (lp.row_lower_, ours.row_lower),
        (lp.row_upper_, ours.row_upper),
    ):
        np.testing.assert_array_equal(np.asarray(theirs), our)
    assert lp.offset_ == ours.constant == 5.0
    assert ours.maximise
    solver.run()
    again = parse_mps(dump_mps(ours))
    assert not again.maximise
    np.testing.assert_array_equal(again.cost, np.array([-2.0, -3.0, 1.0, -0.5]), "whole variables come first")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "there is no row of type N"),
        ("ROWS\n N c\n Q r\n", "line 3: cannot be read as MPS, section ROWS: a row is of type"),
        ("ROWS\n N c\nCOLUMNS\n x r 1\n", "line 4: .*there is no 'r'"),
        ("ROWS\n N c\nCOLUMNS\n x c one\n", "line 4"),
        ("ROWS\n N c\nCOLUMNS\n x c 1\nBOUNDS\n SC B x 1\n", "bounds of type SC are not known"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_mps(text, "p.mps")


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (CLAIM, None),
        (CLAIM.replace("19", "18"), "the objective is 19, not 18"),
        (CLAIM.replace("x1 3", "x1 4"), "row r0 is violated by 6"),
        (CLAIM.replace("x1 3", "x1 5"), "x1 is out of its bounds"),
        (CLAIM.replace("x1 3", "x1 -1"), "x1 is out of its bounds"),
        ("Optimal - objective value 19.75\n0 x0 5.25\n1 x1 1\n", "x0 must be a whole number"),
        (CLAIM.replace("x1 3", "x1 nan"), "must be a finite number"),
        (CLAIM.replace("x1 3", "x7 3"), "there is no variable x7"),
        ("Optimal, stopped on time\n", "the first line must state the objective"),
        ("Stopped on time\n", None),
    ],
)
def test_a_claim_is_checked(claim: str, reason: str | None) -> None:
    problem = refuted(TINY, claim)
    assert problem is None if reason is None else reason in (problem or "")


BIG = """NAME big
ROWS
 N cost
 E balance
 L small
 L large
COLUMNS
 x cost 1 balance 1
 x large 1
 y balance -1
 z small 1
RHS
 RHS small 2
 RHS large 1e9
ENDATA
"""
"""Near 1e8 a solver leaves a difference of 0.01 between `x` and `y`, the rounding of what it adds up."""


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("1 x 100000000.01\n2 y 100000000\n3 z 2\n", None),
        ("1 x 100000000.01\n2 y 100000000\n3 z 2.5\n", "row small is violated by 0.5"),
        ("1 x 100000500\n2 y 100000000\n3 z 3\n", "row small is violated by 1"),
        ("1 x 100010000\n2 y 100000000\n3 z 2\n", "row balance is violated by 10000"),
        ("1 x 0.5\n", "row balance is violated by 0.5"),
    ],
)
def test_large_terms_that_cancel_and_the_row_that_offends(
    values: str, reason: str | None, tmp_path: Path
) -> None:
    (tmp_path / "big.mps").write_text(BIG)
    objective = float(values.split()[2])
    assert refuted(tmp_path / "big.mps", f"Optimal - objective value {objective:.12g}\n{values}") == reason


def test_the_rows_of_lp_files_have_names_as_well(tmp_path: Path) -> None:
    pytest.importorskip("highspy", reason="reads LP files: pip install 'tailcut[mip]'")
    path = tmp_path / "small.lp"
    path.write_text("Minimize\n obj: x\nSubject To\n enough: x + y >= 3\nEnd\n")
    assert refuted(path, "Optimal - objective value 1\n0 x 1\n") == "row enough is violated by 2"


@pytest.mark.parametrize("way", FOUND.values(), ids=list(FOUND))
def test_each_solver_on_each_kind_of_file(
    way: SolverWay, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packed, lp = tmp_path / "packed.mps.gz", tmp_path / "small.lp"
    packed.write_bytes(gzip.compress(TINY.read_bytes()))
    lp.write_text(
        "Maximize\n obj: 3 x + 2 y\nSubject To\n c1: 2 x + y <= 9\nBounds\n y <= 3\nGeneral\n x y\nEnd\n"
    )
    for path, expected in (
        (TINY, "value 19"),
        (packed, "value 19"),
        (lp, "value 15"),
        (DOMAIN.check[1].path, "Infeas"),
    ):
        assert main([word.replace("{instance}", str(path)) for word in way.arguments]) == 0
        printed = capfd.readouterr().out
        assert expected in printed
        assert refuted(path, printed) is None


def test_features_have_the_same_names_for_every_program() -> None:
    names = extract(TINY).keys()
    assert all(extract(tiny.path).keys() == names for tiny in DOMAIN.check)
