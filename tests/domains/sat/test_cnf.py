"""DIMACS files: round trips, what is tolerated, and errors with their lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.domains.sat.cnf import Formula, dump, parse, read, satisfies, tidy, write
from tailcut.errors import FormulaError, InputError
from tests.domains.sat.small import formulas, has_model


@settings(deadline=None)
@given(formula=formulas())
def test_what_is_written_is_read_again(formula: Formula) -> None:
    assert parse(dump(formula, "two\nlines")) == formula


@pytest.mark.parametrize("name", ["f.cnf", "f.cnf.gz", "f.cnf.xz"])
def test_files_plain_and_compressed(tmp_path: Path, name: str) -> None:
    formula = Formula.of([[1, -2], [], [3]])
    write(tmp_path / name, formula)
    once = (tmp_path / name).read_bytes()
    write(tmp_path / name, formula)
    assert (tmp_path / name).read_bytes() == once
    assert read(tmp_path / name) == formula
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "p cnf 3 2\n1 -2 0\n3 0\n",
        "c hello 9 0\np cnf 3 2\nc p cnf\n1 -2 0 3 0",
        "p  cnf\t3 2 \r\n1 -2\r\n0\r\n  c indented\r\n3\r\n0\r\n",
        "p cnf 3 2\n1 -2 0\n3 0\n%\n0\n\n",
        "1 -2 0\n3 0\n",
        "\n\np cnf 3 2\n\n+1 -2 0\n3 0\n".replace("+", ""),
    ],
)
def test_tolerated(text: str) -> None:
    assert parse(text.encode()) == Formula.of([[1, -2], [3]])


@pytest.mark.parametrize("text", ["p cnf 0 0\n", "p cnf 0 0", "c x\np cnf 0 0\nc y\n"])
def test_no_clauses(text: str) -> None:
    assert parse(text.encode()) == Formula.of([], 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p cnf 3 2\n1 x 0\n3 0\n", "f.cnf, line 2: expected integers, got 'x'"),
        ("p cnf 3 2\n1 2 0\n3 - 0\n", "f.cnf, line 3: expected integers, got '-'"),
        ("p cnf 3 2\n1 2-3 0\n3 0\n", "f.cnf, line 2: expected integers, got '2-3'"),
        ("p cnf 3 2\n1 --2 0\n3 0\n", "f.cnf, line 2: expected integers, got '--2'"),
        ("p cnf 3 2\n1.5 0\n3 0\n", "f.cnf, line 2: expected integers, got '1.5'"),
        (
            "c\np wcnf 3 2 9\n1 0\n3 0\n",
            "f.cnf, line 2: expected 'p cnf VARIABLES CLAUSES', got 'p wcnf 3 2 9'",
        ),
        ("p cnf 3\n1 0\n", "f.cnf, line 1: expected 'p cnf VARIABLES CLAUSES', got 'p cnf 3'"),
        ("p cnf -3 1\n1 0\n", "f.cnf, line 1: expected 'p cnf VARIABLES CLAUSES', got 'p cnf -3 1'"),
        ("1 0\np cnf 3 2\n", "f.cnf, line 2: a header, but there was one, or clauses, before it"),
        ("p cnf 3 1\np cnf 3 1\n1 0\n", "f.cnf, line 2: a header, but there was one, or clauses, before it"),
        ("p cnf 3 2\n1 2 0\nc\n3 -4 0\n", "f.cnf, line 4: literal '-4', but the last variable is 3"),
        (
            "p cnf 3 1\n99999999999999999999 0\n",
            "line 2: literal '99999999999999999999', but the last variable",
        ),
        ("3000000000 0\n", "line 1: literal '3000000000', but the last variable is 2147483646"),
        ("p cnf 3 1\n" + "9" * 5000 + " 0\n", "line 2: literal '9999"),
        ("p cnf 3 2\n1 2 0\n3\n", "f.cnf: the last clause has no 0 at its end"),
        ("p cnf 3 3\n1 2 0\n3 0\n", "f.cnf: the header announces 3 clauses, but there are 2"),
        ("p cnf 9999999999 1\n1 0\n", "the header announces 9999999999 variables; there may be 2147483646"),
        ("p cnf 3 1\n1 x % 0\n", "f.cnf, line 2: expected integers, got 'x'"),
        ("", "f.cnf: holds no formula"),
        ("c only this\n", "f.cnf: holds no formula"),
        ("\x00\xff", "f.cnf, line 1: expected integers, got"),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "f.cnf"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FormulaError) as raised:
        read(path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@settings(deadline=None)
@given(text=st.text(alphabet="pcnf 0123-%\n\r\t\fx", max_size=60))
def test_whatever_is_in_a_file_it_is_a_formula_or_an_error_in_one_line(text: str) -> None:
    for beginning in ("", "p cnf 3 2\n"):
        message = ""
        try:
            formula = parse((beginning + text).encode())
        except FormulaError as error:
            message = str(error)
        else:
            assert parse(dump(formula)) == formula
        assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormulaError, match=r"none\.cnf: cannot be read: No such file"):
        read(tmp_path / "none.cnf")
    with pytest.raises(FormulaError, match="cannot be read: Is a directory"):
        read(tmp_path)
    damaged = tmp_path / "f.cnf.gz"
    damaged.write_bytes(gzip.compress(b"p cnf 1 1\n1 0\n" * 99)[:-12])
    with pytest.raises(FormulaError, match=r"is not a \.gz file, or is damaged"):
        read(damaged)
    for ending in (".gz", ".xz"):
        (tmp_path / f"f{ending}").write_bytes(b"p cnf 1 1\n1 0\n")
        with pytest.raises(FormulaError, match=f"is not a {ending} file"):
            read(tmp_path / f"f{ending}")


def test_writing_fails_whole(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "f.cnf", Formula.of([[1]]))
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None)
@given(formula=formulas())
def test_tidying_changes_nothing_that_matters(formula: Formula) -> None:
    clean = tidy(formula)
    assert has_model(clean) == has_model(formula)
    expected = [sorted(set(c)) for c in formula.clauses() if not any(-literal in c for literal in c)]
    assert clean.clauses() == expected


@pytest.mark.parametrize(
    ("model", "good"),
    [
        ([1, 2, 3], True),
        ([1, 3], True),
        ([1], False),
        ([-1, -2, 3], True),
        ([-1, 2, 3], False),
        ([1, -1, 3], False),
        ([1, 3, 0], False),
        ([1, 3, 7], False),
        ([], False),
    ],
)
def test_models(model: list[int], good: bool) -> None:
    assert satisfies(Formula.of([[1, -2], [3]]), np.array(model, dtype=np.int32)) is good


def test_an_empty_clause_has_no_model() -> None:
    assert not satisfies(Formula.of([[1], []]), [1])
    assert satisfies(Formula.of([], 1), [])


@pytest.mark.parametrize("clauses", [[[0]], [[4]], [[-4]]])
def test_literals_must_be_of_the_variables(clauses: list[list[int]]) -> None:
    with pytest.raises(InputError, match="from -3 to 3 and not 0"):
        Formula.of(clauses, 3)


def test_formulas_can_be_compared_and_hashed() -> None:
    one, same, other = Formula.of([[1, 2]]), Formula.of([[1, 2]]), Formula.of([[1], [2]])
    assert one == same != other
    assert hash(one) == hash(same)
    assert one != "p cnf"
