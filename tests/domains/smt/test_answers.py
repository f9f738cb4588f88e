"""Scripts are made to ask for a model, and what solvers print is made plain."""

from __future__ import annotations

import pytest

from tailcut.domains.domain import read_answer
from tailcut.domains.smt import DOMAIN
from tailcut.domains.smt.answers import model_of
from tailcut.domains.smt.solve import plain_output, with_model


@pytest.mark.parametrize(
    "text",
    [
        b"(check-sat)(get-value (x))",
        b"(check-sat)(check-sat)",
        b"(check-sat)(get-model)",
        b"(assert true)",
        b"(check-sat",
    ],
)
def test_a_script_that_asks_for_more_or_less_is_left_as_it_is(text: bytes) -> None:
    assert with_model(text)[0] == text


def test_what_stands_in_comments_texts_and_quotes_is_no_command() -> None:
    text = b'; (check-sat)\n(set-info :x "(check-sat)")(declare-const |(check-sat)| Bool)\n(check-sat)'
    script, checks = with_model(text)
    assert checks == 1
    assert script.endswith(b"(check-sat)\n(get-model)\n")


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (b"sat\n((define-fun x () Int 1))\n", "sat"),
        (b"unsat\n", "unsat"),
        (b"success\nsuccess\nunsat\n", "unsat"),
        (b'unsat\n(error "there is no model")\n', "unsat"),
        (b"unknown\n", None),
        (b"unsupported\nsat\n", None),
        (b'(error "line 3")\nsat\n', None),
        (b"sat\nunsat\n", None),
        (b"", None),
        (b"satisfiable\n", None),
    ],
)
def test_an_answer_comes_first_or_is_none(output: bytes, answer: str | None) -> None:
    assert read_answer(DOMAIN.answers, 0, output) == answer


def test_several_checks_have_one_answer_together() -> None:
    first = read_answer(DOMAIN.answers, 0, plain_output(b"sat\nunsat\n", 2))
    assert first is not None
    assert first.startswith("2 checks: ")
    assert first != read_answer(DOMAIN.answers, 0, plain_output(b"unsat\nsat\n", 2))
    assert read_answer(DOMAIN.answers, 0, plain_output(b"sat\nunknown\n", 2)) is None
    assert read_answer(DOMAIN.answers, 0, plain_output(b"sat\n", 2)) is None


def test_a_model_with_anything_but_definitions_is_not_checked() -> None:
    assert set(model_of(b"sat\n(model (define-fun |a b| () Int 1)\n (define-fun f ((x Int)) Int x))")) == {
        b"|a b|",
        b"f",
    }
    assert model_of(b"sat\n((declare-fun U!0 () U)(define-fun x () U U!0))") == {}
    assert model_of(b"sat\n") == {}
