"""The command as a user runs it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tailcut import __version__
from tests.cli.conftest import run


def test_version_and_help() -> None:
    assert run("--version").stdout == f"tailcut {__version__}\n"
    for command in ([], ["demo"], ["selectors"]):
        result = run(*command, "--help")
        assert result.returncode == 0
        assert "Usage" in result.stdout


@pytest.mark.parametrize("arguments", [["demo", "--instances", "0"], ["demo", "--seeds", "x"], ["nonsense"]])
def test_wrong_calls_end_with_code_2_and_no_traceback(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr


def test_without_its_extra_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom tailcut.cli import main\nmain()\n"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "pip install 'tailcut[cli]'" in result.stderr


def test_importing_the_package_pulls_in_no_optional_dependency() -> None:
    code = (
        "import sys, tailcut\n"
        "print(sorted({'sklearn', 'typer', 'rich', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]"
