"""The portfolio file: what it may say, and how each mistake in it is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailcut.errors import PortfolioError
from tailcut.live.limits import Call, Command
from tailcut.live.portfolio import read_portfolio

EXAMPLE = Path(__file__).parents[2] / "examples" / "portfolio.toml"


def read(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    file = tmp_path / "p.toml"
    file.write_text(text)
    return read_portfolio(file)


def test_a_portfolio_of_commands(tmp_path: Path) -> None:
    portfolio = read(
        tmp_path,
        """
        cutoff = 300
        memory = "2 GiB"
        clock = "wall"
        [answers.optimal]
        exit_code = 0
        pattern = '^OPTIMAL'
        [solvers.one]
        command = ["./bin/one", "--time", "{cutoff}", "--memory={memory}", "{instance}"]
        environment = { OMP_NUM_THREADS = "1" }
        [solvers.two]
        command = 'two "{instance}"'
        memory = "500 MB"
        answers.done.exit_code = 7
        """,
    )
    one, two = portfolio.solvers.values()
    assert portfolio.cutoff == 300.0
    assert portfolio.clock == "wall"
    filled = one.program.filled(instance="/x/i 1", cutoff="300", memory=str(one.program.memory))
    assert filled == Command(
        (str(tmp_path / "bin/one"), "--time", "300", "--memory=2147483648", "/x/i 1"),
        environment={"OMP_NUM_THREADS": "1"},
        folder=tmp_path,
    )
    assert two.program.filled(instance="a b", cutoff="1", memory="0").argv == ("two", "a b")
    assert two.program.memory == 500_000_000
    assert [rule.answer for rule in one.answers] == ["optimal"]
    assert [(rule.answer, rule.exit_code) for rule in two.answers] == [("done", 7)]
    assert portfolio.features is not None
    assert portfolio.features.entry == "tailcut.domains.file_features:main", "those of any file"
    assert portfolio.verify is None


def test_the_example_is_right_and_the_domain_fills_in() -> None:
    portfolio = read_portfolio(EXAMPLE)
    kissat = portfolio.solvers["kissat"]
    assert kissat.program.filled(instance="i.cnf", cutoff="1", memory="1") == Call(
        "tailcut.domains.sat.solve:main", ("kissat404", "i.cnf"), folder=EXAMPLE.parent
    )
    assert [rule.answer for rule in kissat.answers] == ["SATISFIABLE", "UNSATISFIABLE"]
    assert portfolio.features is not None
    assert portfolio.verify is not None
    assert [answer for _, answer in portfolio.check] == ["SATISFIABLE", "UNSATISFIABLE"]
    assert all(path.is_file() for path, _ in portfolio.check)


GOOD = '[solvers.a]\ncommand = ["a", "{instance}"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there must be at least one solver, as a table [solvers.NAME]"),
        ("solvers = 3", "solvers must be a table, got 3"),
        ("x = [1", "p.toml: is not TOML"),
        ("colck = 'cpu'\n" + GOOD, "colck is not known here; did you mean clock?"),
        ("clock = 'sun'\n" + GOOD, "clock must be one of cpu, wall, got 'sun'"),
        ("cutoff = 0\n" + GOOD, "cutoff must be a number > 0, got 0"),
        ("cutoff = true\n" + GOOD, "cutoff must be a number > 0, got True"),
        ("memory = '2 cats'\n" + GOOD, 'memory must be an amount of memory such as "2 GiB"'),
        ("memory = -1\n" + GOOD, "memory must be an amount of memory"),
        ("domain = 'tsp'\n" + GOOD, "domain must be one of csp, maxsat, mip, sat, smt, got 'tsp'"),
        ("instances = 'x'\n" + GOOD, "instances must be a list of texts"),
        ("[solvers.a]\n", "solvers.a must have either a command or an entry"),
        ("[solvers.a]\ncommand = ['a', '{instance}']\nentry = 'm:f'", "either a command or an entry"),
        (
            "[solvers.a]\nentry = 'm.f'\narguments = ['{instance}']",
            'solvers.a.entry must be "module:function"',
        ),
        ("[solvers.a]\ncommand = []", "solvers.a.command must be a list with the program"),
        ("[solvers.a]\ncommand = [1]", "solvers.a.command must be a list of texts"),
        ("[solvers.a]\ncommand = 'a \"b'", "is a quote open?"),
        ("[solvers.a]\ncommand = ['a']", "words with {instance} where the instance's file goes"),
        ("[solvers.a]\ncommand = ['a', '{instance}', '{sed}']", "a place {sed} that is not known here"),
        ("[solvers.a]\ncommand = ['a', '{instance}']\narguments = ['b']", "given with an entry only"),
        ("[solvers.a]\ncommand = ['a', '{instance}']\nenvironment = {A = 1}", "a table of texts"),
        (GOOD + "[answers.yes]", "answers.yes must have an exit_code, a pattern or both"),
        (GOOD + "[answers.yes]\npattern = '('", "answers.yes.pattern must be a regular expression"),
        (GOOD + "[answers.yes]\nexit_code = 'x'", "answers.yes.exit_code must be a whole number"),
        (GOOD + "[features]\ncommand = ['f']", "features.command must be words with {instance}"),
        (
            GOOD + "[features]\ncommand = ['f', '{instance}']\nlimit = -1",
            "features.limit must be a number > 0",
        ),
    ],
)
def test_mistakes_name_file_and_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PortfolioError, match=re.escape(message)) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "p.toml"))


MIP = """
domain = "mip"
[solvers.mine]
command = ["mine", "{instance}"]
[solvers.mine.answers.optimal]
pattern = '^Value: (?P<objective>\\S+)'
"""


def test_an_answer_of_a_domain_has_its_objective(tmp_path: Path) -> None:
    (rule,) = read(tmp_path, MIP).solvers["mine"].answers
    assert rule.read(0, b"Value: 19\n") == "optimal 19"
    with pytest.raises(PortfolioError, match=r"answers.optimal.pattern must .* group \(\?P<objective>"):
        read(tmp_path, MIP.replace("?P<objective>", ""))
