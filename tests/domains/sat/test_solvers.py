"""Every solver tells the truth: against trying everything, on small formulas of all kinds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tailcut.domains.sat.answers import Answer, SatStatus, parse_output
from tailcut.domains.sat.cnf import Formula, satisfies
from tailcut.domains.sat.generators import pigeonhole
from tailcut.domains.sat.local_search import search
from tailcut.domains.sat.solvers import answer
from tailcut.errors import InputError
from tests.domains.sat.small import (
    COMPLETE_HERE,
    SATISFIABLE,
    SOLVERS_HERE,
    UNSATISFIABLE,
    formulas,
    has_model,
)


@pytest.mark.parametrize("solver", SOLVERS_HERE)
def test_finds_a_model(solver: str) -> None:
    found = answer(solver, SATISFIABLE)
    assert found.status is SatStatus.SATISFIABLE
    assert found.model is not None
    assert satisfies(SATISFIABLE, found.model)


@pytest.mark.parametrize("solver", COMPLETE_HERE)
@pytest.mark.parametrize(
    "formula", [UNSATISFIABLE, pigeonhole(holes=4, pigeons=5)], ids=["square", "pigeons"]
)
def test_finds_out_that_there_is_no_model(solver: str, formula: Formula) -> None:
    assert answer(solver, formula).status is SatStatus.UNSATISFIABLE


@settings(max_examples=40, deadline=None)
@given(formula=formulas())
def test_all_complete_solvers_agree_with_trying_everything(formula: Formula) -> None:
    expected = SatStatus.SATISFIABLE if has_model(formula) else SatStatus.UNSATISFIABLE
    for solver in COMPLETE_HERE:
        found = answer(solver, formula)
        assert found.status is expected, solver
        assert found.model is None or satisfies(formula, found.model), solver


@settings(max_examples=100, deadline=None)
@given(formula=formulas(shortest=1))
def test_the_local_search_finds_a_model_if_there_is_one(formula: Formula) -> None:
    model = search(formula, flips=100_000)
    assert (model is not None) == has_model(formula)
    assert model is None or satisfies(formula, model)


def test_the_local_search_is_decided_by_its_seed() -> None:
    formula = Formula.of([[v, v + 1, -(v + 2)] for v in range(1, 200)])
    models = [search(formula, seed=seed, flips=100_000) for seed in (1, 1, 2)]
    first, again, other = (model.tolist() for model in models if model is not None)
    assert first == again != other


@pytest.mark.parametrize("solver", SOLVERS_HERE)
def test_degenerate_formulas(solver: str) -> None:
    assert answer(solver, Formula.of([], 0)).status is SatStatus.SATISFIABLE
    assert answer(solver, Formula.of([], 3)).status is SatStatus.SATISFIABLE
    assert answer(solver, Formula.of([[1], []])).status is SatStatus.UNSATISFIABLE
    tautology = answer(solver, Formula.of([[1, -1]]))
    assert tautology.status is SatStatus.SATISFIABLE


def test_an_unknown_solver() -> None:
    with pytest.raises(InputError, match="no solver 'minisat'; there are kissat404"):
        answer("minisat", SATISFIABLE)


def test_long_models_are_printed_on_several_lines_and_read_back() -> None:
    found = Answer.of(True, [v if v % 3 else -v for v in range(1, 100)])
    assert max(map(len, found.text().splitlines())) < 78
    assert parse_output(found.text()).text() == found.text()


@pytest.mark.parametrize("text", ["s SATISFIABLE\nv 1 x 0\n", "s SATISFIABLE\n", "s SATISFIABLE\nv\n"])
def test_a_broken_model_is_none(text: str) -> None:
    found = parse_output(text)
    assert (found.status, found.model) == (SatStatus.SATISFIABLE, None)


def test_the_0_at_the_end_may_be_missing() -> None:
    found = parse_output("s SATISFIABLE\nv -1 2 \n")  # Debian's z3
    assert found.text() == Answer.of(True, [-1, 2]).text()


def test_an_answer_that_is_none() -> None:
    assert parse_output("c nothing\n").text() == "s UNKNOWN\n"
    with pytest.raises(InputError, match="must be one of SATISFIABLE, UNSATISFIABLE, UNKNOWN, not 'MAYBE'"):
        parse_output("s MAYBE\n")
