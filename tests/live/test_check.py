"""A portfolio tried from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.live.check import check_portfolio
from tailcut.live.instances import instances_in
from tailcut.live.portfolio import read_portfolio
from tests.live import toy


def test_a_portfolio_that_works_and_a_solver_that_says_nothing(tmp_path: Path) -> None:
    portfolio = read_portfolio(toy.write_portfolio(tmp_path, ("a", "b")))
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 mumble"})
    checked = check_portfolio(portfolio, list(instances_in([str(folder)], portfolio.instances)))
    assert [(one.program, one.answer) for one in checked.tried] == [
        ("features", "2 values"),
        ("a", "yes"),
        ("b", None),
    ]
    assert checked.silent == ("b",)
    assert not checked.passed
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 no"})
    checked = check_portfolio(portfolio, list(instances_in([str(folder)], portfolio.instances)))
    assert checked.passed


def test_a_tiny_instance_that_is_not_there(tmp_path: Path) -> None:
    path = toy.write_portfolio(tmp_path, ("a",))
    with pytest.raises(InputError, match="nothing to try the solvers on"):
        check_portfolio(read_portfolio(path))
    path.write_text(path.read_text() + '[check]\ninstance = "tiny.toy"\n')
    with pytest.raises(InputError, match=r"tiny\.toy: there is no such instance to check with"):
        check_portfolio(read_portfolio(path))


def test_notes_show_how_to_describe_answers(tmp_path: Path) -> None:
    portfolio = read_portfolio(toy.write_portfolio(tmp_path, ("a", "b")))
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 mumble"})
    instances = list(instances_in([str(folder)], portfolio.instances))
    (note,) = check_portfolio(portfolio, instances).notes
    assert "[solvers.b.answers.ANSWER]" in note
    assert "yes or no" in note


def test_a_note_names_the_solvers_whose_exit_code_is_all_there_is(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('cutoff = 5\n[solvers.true]\ncommand = ["true", "{instance}"]\n')
    (tmp_path / "one").write_text("anything")
    portfolio = read_portfolio(path)
    checked = check_portfolio(portfolio, list(instances_in([str(tmp_path / "one")], portfolio.instances)))
    assert checked.passed
    (note,) = checked.notes
    assert note.startswith("exit code 0 means solved for true:")
