"""Write docs/reference/commands.md, the reference of every command and option, from the commands themselves.

python -m tools.command_reference
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from tailcut.cli.app import COMMANDS, loaded

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
HEAD = """# Commands

Generated from the code by `python -m tools.command_reference`; a test fails when this page is stale. Every
command has `--help`, and most print JSON for programs with `--json`. A mistake in a call gives one line on
standard error and exit code 2. `tailcut --version` prints the version, `tailcut --install-completion` sets up
completion for your shell.
"""


def page() -> str:
    """Return the whole page."""
    index = "\n".join(f"- [`tailcut {name}`](#tailcut-{name}): {text}" for name, text in COMMANDS.items())
    parts = [section for name in COMMANDS for section in _sections(loaded(name), f"tailcut {name}")]
    return "\n".join([HEAD, index, "", *parts]).rstrip() + "\n"


def _sections(command: Any, called: str, depth: int = 2) -> Iterator[str]:
    """Yield the section of a command, then those of its subcommands."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    yield f"{'#' * depth} {called}\n"
    yield _prose(command.help) + "\n"
    if not hasattr(command, "commands"):
        usage = " ".join([called, *(["[OPTIONS]"] if options else []), *map(_usage, arguments)])
        yield f"```text\n{usage}\n```\n"
    if arguments:
        yield _table("argument", [(_code(_metavar(one)), one) for one in arguments])
    if options:
        yield _table("option", [(_flags(one), one) for one in options])
    for name, inner in getattr(command, "commands", {}).items():
        if inner.hidden:
            continue
        yield from _sections(inner, f"{called} {name}", depth + 1)


def _prose(text: str | None) -> str:
    """Return a docstring with each paragraph on a line of its own."""
    paragraphs = inspect.cleandoc(text or "").replace("\b\n", "").split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def _usage(argument: Any) -> str:
    name = _metavar(argument) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).strip("[].").upper()


def _flags(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    return f"{names} {_code(option.metavar or _kind(option.default))}"


def _code(text: str) -> str:
    """Return code for a cell of a table: a bar would end the cell, and an escaped one shows its backslash."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _kind(default: Any) -> str:
    """Return what stands for a value that the code gives no name of its own."""
    if isinstance(default, Enum):
        return "|".join(str(one.value) for one in type(default))
    return "N" if isinstance(default, int | float) else "VALUE"


def _table(title: str, rows: list[tuple[str, Any]]) -> str:
    lines = [f"| {title} | meaning | default |", "|---|---|---|"]
    for name, parameter in rows:
        meaning = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        if parameter.envvar:
            meaning += f" Environment variable: `{parameter.envvar}`."
        lines.append(f"| {name} | {meaning} | {_default(parameter)} |")
    return "\n".join(lines) + "\n"


def _default(parameter: Any) -> str:
    """Return the default as the help shows it: in words where it depends on the machine."""
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or callable(value) or value in ((), [], ""):
        return ""
    return f"`{getattr(value, 'value', value)}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
