"""A state file is continued by the command line and by `tailcut.live.run` alike: with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.live import run
from tests.live import toy
from tests.live.commands import tailcut

INSTANCES = dict.fromkeys(("one", "two", "three"), "a 0.01 yes\nb 0.01 yes")


@pytest.mark.parametrize("selector", [None, "round_robin", "tailcut:window=0"])
@pytest.mark.parametrize("python_first", [False, True])
def test_python_and_the_command_line_continue_each_others_state(
    tmp_path: Path, selector: str | None, python_first: bool
) -> None:
    named = "" if selector is None else f'selector = "{selector}"\n'
    portfolio = toy.write_portfolio(tmp_path, top=f"cutoff = 5\n{named}")
    folder = toy.write_instances(tmp_path, INSTANCES)
    files = sorted(folder.iterdir())
    state = tmp_path / "s.db"

    def by_command(upto: int) -> None:
        tailcut(tmp_path, "run", "portfolio.toml", *map(str, files[:upto]), "--state", str(state))

    def from_python(upto: int) -> None:
        assert run(portfolio, files[:upto], state=state).over == upto

    steps = [from_python, by_command] if python_first else [by_command, from_python]
    for upto, step in enumerate([*steps, steps[0]], 1):
        step(upto)
    assert [line[2] for line in toy.log(tmp_path) if line[0] == "answer"] == [file.name for file in files]


def test_a_selector_with_options_means_the_same_in_python(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, top="cutoff = 5\n")
    files = sorted(toy.write_instances(tmp_path, INSTANCES).iterdir())
    options = ("--selector", "tailcut:window=40", "--state", "s.db")
    tailcut(tmp_path, "run", "portfolio.toml", str(files[0]), *options)
    assert run(portfolio, files, state=tmp_path / "s.db", selector="tailcut:window=40").over == 3
    with pytest.raises(InputError, match="window"):
        run(portfolio, files, state=tmp_path / "s.db", selector="tailcut:window=41")
    with pytest.raises(InputError, match="in hindsight"):
        run(portfolio, files, state=tmp_path / "t.db", selector="oracle")
