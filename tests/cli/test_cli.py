"""The command as a user runs it: in a process of its own."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailcut
from tailcut import __version__
from tailcut.catalogue import DEFAULT_SELECTOR
from tailcut.cli import bench
from tailcut.cli import run as run_command
from tailcut.cli.app import COMMANDS, app, loaded
from tailcut.types import PENALTY
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


def test_every_public_name_is_there_though_imported_late() -> None:
    for name in tailcut.__all__:
        assert getattr(tailcut, name) is not None
    assert set(tailcut.__all__) <= set(dir(tailcut))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tailcut.nonsense


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_import_no_command(arguments: list[str]) -> None:
    """That is why they are quick: benchmarks/startup.py has the milliseconds."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tailcut", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0
    imported = set(re.findall(r"\| +([\w.]+)$", done.stderr, flags=re.MULTILINE))
    assert "tailcut.cli.app" in imported
    assert {name for name in imported if name.startswith("tailcut.cli.")} == {"tailcut.cli.app"}
    assert not {"numpy", "scipy", "rich", "sqlite3", "fastapi"} & imported


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("demo", "replicate")])
def test_help_of_a_command_imports_nothing_that_it_will_need(name: str) -> None:
    code = (
        "import sys\nfrom tailcut.cli import main\n"
        f"sys.argv = ['tailcut', {name!r}, '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert f"tailcut.cli.{name}" in imported
    assert not {"numpy", "scipy", "rich", "fastapi", "tailcut.selector"} & imported


def test_tokens_are_looked_after_without_a_selector(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom tailcut.cli import main\n"
        f"sys.argv = ['tailcut', 'token', 'create', {str(tmp_path / 's.db')!r}, 'me']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "tailcut.selector"} & set(done.stdout.splitlines()[-1].split())


def test_help_says_what_is_known_elsewhere() -> None:
    """Written down twice, because it takes long to import."""
    assert inspect.signature(bench.command).parameters["penalty"].default.default == PENALTY
    shown = CliRunner().invoke(app, ["run", "--help"]).stdout
    assert f"else {DEFAULT_SELECTOR}." in " ".join(shown.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_what_it_says_of_itself(name: str) -> None:
    assert COMMANDS[name] == loaded(name).get_short_help_str(limit=1000).removesuffix(".") + "."
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert f"{name} {COMMANDS[name]}" in " ".join(shown.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_a_text_for_every_parameter_and_no_others(name: str) -> None:
    texts = tomllib.loads((Path(bench.__file__).parent / "help.toml").read_text(encoding="utf-8"))
    assert set(texts) == {"shared", *COMMANDS}
    command = loaded(name)
    subcommands = getattr(command, "commands", None)
    sections = {name: texts[name]} if subcommands is None else texts[name]
    assert set(sections) == set(subcommands or [name])
    for one in (subcommands or {name: command}).values():
        known = {parameter.opts[0]: parameter.help for parameter in one.params}
        assert all(known.values())
        assert set(sections[one.name]) <= set(known)


def test_the_options_of_run_are_grouped() -> None:
    grouped = [name for names in run_command.OPTION_GROUPS.values() for name in names]
    known = set(inspect.signature(run_command.command).parameters)
    assert len(grouped) == len(set(grouped))
    assert known - set(grouped) == {"portfolio", "instances", "domain"}
    assert set(grouped) <= known
    shown = CliRunner().invoke(app, ["run", "--help"]).stdout
    sections = dict(re.findall(r"^(\w.*):\n((?:(?:  .*)?\n)+)", shown, flags=re.MULTILINE))
    assert set(sections) == {"Arguments", "Options", *run_command.OPTION_GROUPS}
    assert "--retry" in sections["Instances"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_types_of_switches(name: str) -> None:
    for command in (None, *getattr(loaded(name), "commands", {})):
        shown = CliRunner().invoke(app, [name, *filter(None, [command]), "--help"])
        assert shown.exit_code == 0
        assert "Usage" in shown.stdout
        assert "<bool>" not in shown.stdout


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "tailcut", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"tailcut {__version__}\n")


def _completions(*words: str) -> list[str]:
    """Ask for completions as the script that `--show-completion bash` prints does."""
    asked = {"COMP_WORDS": " ".join(["tailcut", *words]), "COMP_CWORD": str(len(words))}
    code = "import sys; sys.argv[0] = 'tailcut'\nfrom tailcut.cli import main\nmain()\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "_TAILCUT_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_shell_completes_commands_and_their_options() -> None:
    assert _completions("se") == ["selectors", "serve"]
    assert _completions("bench", "--s") == ["--scenario", "--selector", "--seeds", "--scheduler"]
    assert "info" in _completions("scenario", "")
