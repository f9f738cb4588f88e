"""What a solver prints is contradictory if it claims both a solution and that there is none."""

from __future__ import annotations

import pytest

from tailcut.domains.domain import bundled, contradiction, read_answer


@pytest.mark.parametrize(
    ("domain", "yes", "no"),
    [
        ("sat", "s SATISFIABLE\nv 1 2 0\n", "s UNSATISFIABLE\n"),
        ("maxsat", "o 2\ns OPTIMUM FOUND\nv 10\n", "s UNSATISFIABLE\n"),
        ("csp", "x = 1;\n----------\n", "=====UNSATISFIABLE=====\n"),
        ("csp", "x = 1;\n_objective = 2;\n----------\n==========\n", "=====UNSATISFIABLE=====\n"),
        ("mip", "Optimal - objective value 3\n 0 x 3\n", "Infeasible\n"),
        ("mip", "Optimal - objective value 3\n 0 x 3\n", "Unbounded\n"),
        ("smt", "sat\n", "unsat\n"),
    ],
)
def test_an_output_with_both_verdicts_has_no_answer_in_any_domain(domain: str, yes: str, no: str) -> None:
    rules = bundled(domain).answers

    def answer(text: str) -> str | None:
        output = text.encode()
        return None if contradiction(rules, 0, output) else read_answer(rules, 0, output)

    assert answer(yes) is not None
    assert answer(no) is not None
    assert answer(yes + no) is None
    assert answer(no + yes) is None
