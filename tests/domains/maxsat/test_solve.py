"""Each solver against trying every assignment; formats, and claims that are refuted."""

from __future__ import annotations

import importlib.util
import itertools
import random
from pathlib import Path

import pytest

from tailcut.domains.domain import read_answer
from tailcut.domains.maxsat import DOMAIN
from tailcut.domains.maxsat.answers import (
    WeightedFormula,
    dump_wcnf,
    extract,
    optimum_text,
    parse_optimum,
    parse_wcnf,
    read_wcnf,
    refuted,
)
from tailcut.domains.maxsat.solve import SOLVERS, main, optimum
from tailcut.errors import FormulaError

TINY, UNSAT = (tiny.path for tiny in DOMAIN.check)


def least(formula: WeightedFormula) -> int | None:
    """Return the least cost of all assignments."""
    costs = (
        formula.cost([n if value else -n for n, value in enumerate(values, 1)])
        for values in itertools.product((False, True), repeat=formula.n_variables)
    )
    return min((cost for cost in costs if cost is not None), default=None)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_is_that_of_trying_everything(solver: str, tmp_path: Path) -> None:
    needed = "highspy" if solver == "highs" else "pysat"
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"needs {needed}: pip install 'tailcut[maxsat]'")
    chance = random.Random(1)
    for number in range(20):

        def clause() -> list[int]:
            return [chance.choice((-1, 1)) * chance.randint(1, 5) for _ in range(chance.randint(1, 3))]

        weight = 1 if solver == "lsu" else number
        soft = [(1 + chance.randint(0, weight) if weight > 1 else 1, clause()) for _ in range(8)]
        formula = WeightedFormula(5, [clause() for _ in range(chance.randint(0, 8))], soft)
        found = optimum(solver, formula)
        assert (None if found is None else found.cost) == least(formula)
        if found is not None:
            (tmp_path / "f.wcnf").write_text(dump_wcnf(formula))
            assert refuted(tmp_path / "f.wcnf", optimum_text(*found, 5)) is None


def test_both_formats_say_the_same() -> None:
    new = parse_wcnf("c x\nh 1 -2 0\n3 2 0\n")
    assert parse_wcnf("p wcnf 2 2 9\n9 1 -2 0\n3 2 0\n") == new == parse_wcnf(dump_wcnf(new))
    assert read_wcnf(UNSAT).hard == [[1, 2], [-1, 2], [1, -2], [-1, -2]]


@pytest.mark.parametrize(
    "text", ["", "h 1 2\n", "x 1 0\n", "-3 1 0\n", "p wcnf x 1 2\n", "3 1 0 2 0\n", "3\n"]
)
def test_a_wrong_line_is_named(text: str) -> None:
    with pytest.raises(FormulaError, match=r"line 1|no clause"):
        parse_wcnf(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("o 3\ns OPTIMUM FOUND\nv 100\n", None),
        ("o 9\no 3\ns OPTIMUM FOUND\nv 1 -2 -3 0\n", None),
        ("o 2\ns OPTIMUM FOUND\nv 100\n", "the model costs 3, not 2"),
        ("o 0\ns OPTIMUM FOUND\nv 000\n", "the model breaks a hard clause"),
        ("s OPTIMUM FOUND\nv 100\n", "no line 'o COST'"),
        ("o 3\ns OPTIMUM FOUND\nv x\n", "cannot be read"),
    ],
)
def test_a_claim_is_checked(text: str, reason: str | None) -> None:
    problem = refuted(TINY, text)
    assert problem is None if reason is None else reason in (problem or "")


def test_the_last_cost_counts_and_only_with_its_status() -> None:
    assert read_answer(DOMAIN.answers, 0, b"o 9\no 3\ns OPTIMUM FOUND\nv 1\n") == "OPTIMUM FOUND 3"
    assert read_answer(DOMAIN.answers, 0, b"s OPTIMUM FOUND\no 4\n") == "OPTIMUM FOUND 4"
    assert read_answer(DOMAIN.answers, 0, b"o 9\ns SATISFIABLE\n") is None
    assert parse_optimum("o 9\ns SATISFIABLE\n") is None


def test_exit_codes_and_what_is_not_a_solvers_kind(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pysat", reason="needs python-sat: pip install 'tailcut[maxsat]'")
    assert main(["rc2", str(TINY)]) == 30
    assert capsys.readouterr().out == "o 3\ns OPTIMUM FOUND\nv 100\n"
    assert main(["rc2", str(UNSAT)]) == 20
    assert main(["lsu", str(TINY)]) == 3
    assert main(["nobody", str(TINY)]) == 2
    assert extract(TINY).keys() == extract(UNSAT).keys()
