"""Features: the names in order, numbers or null, and files of all kinds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import gbdc
import pytest

from tailcut.domains.sat.cnf import Formula, dump, write
from tailcut.domains.sat.features import FEATURES, extract, main
from tailcut.domains.sat.generators import generate
from tests.domains.sat.small import SATISFIABLE


def test_the_names_are_those_of_gbdc() -> None:
    assert list(FEATURES) == gbdc.base_feature_names()
    assert len(FEATURES) == 58


@pytest.mark.parametrize("name", ["f.cnf", "f.cnf.gz", "f.cnf.xz"])
def test_every_feature_is_a_number(tmp_path: Path, name: str) -> None:
    formula = generate("tseitin3", 0)
    write(tmp_path / name, formula)
    found = extract(tmp_path / name)
    assert tuple(found) == FEATURES
    assert all(value is not None and math.isfinite(value) for value in found.values())
    assert (found["variables"], found["clauses"]) == (formula.n_variables, formula.n_clauses)
    assert found["cls3"] == formula.n_clauses


@pytest.mark.parametrize("text", ["p cnf 0 0\n", "p cnf 3 0\n", "p cnf 2 2\n0\n1 2 0\n"])
def test_what_gbdc_cannot_describe_is_null(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.cnf").write_text(text)
    found = extract(tmp_path / "f.cnf")
    assert tuple(found) == FEATURES
    assert [name for name, value in found.items() if value is not None] == ["clauses", "variables"]


def test_what_we_read_and_gbdc_does_not(tmp_path: Path) -> None:
    write(tmp_path / "plain.cnf", SATISFIABLE)
    (tmp_path / "satlib.cnf").write_bytes(dump(SATISFIABLE) + b"%\n0\n")
    assert extract(tmp_path / "satlib.cnf") == extract(tmp_path / "plain.cnf")


def test_the_program_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.cnf"
    write(path, Formula.of([[1, -2], []]))
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "NaN" not in printed
    assert tuple(json.loads(printed)) == FEATURES


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.cnf"
    path.write_text("p cnf 1 1\n1 2 0\n")
    for arguments, message in (
        ([str(path)], "line 2: literal '2', but the last variable is 1"),
        (["none.cnf"], "none.cnf: cannot be read"),
        ([], "the following arguments are required: FILE"),
    ):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err
        assert printed.err.count("\n") == 1
    assert main(["--help"]) == 0
