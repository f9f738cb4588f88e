"""The command line: one module per command, put together in `tailcut.cli.app`.

``tailcut solve`` is started as often as a solver and must start as fast, so its options are read here without
Typer. Only what is certainly right is; everything else, `--help` and mistakes above all, is left to Typer,
which has the same options (`tailcut.cli.solve`); a test holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from getopt import GetoptError, gnu_getopt
from typing import Any


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    if sys.argv[1:2] == ["solve"] and (given := quick_options(sys.argv[2:])) is not None:
        from tailcut.solve.thin_client import run as solve

        sys.exit(solve(given))
    try:
        from tailcut.cli.app import run

        run()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.stderr.write("the tailcut command needs the extra 'cli': pip install 'tailcut[cli]'\n")
        sys.exit(2)


_NO_DEFAULT = ("file", "domain", "portfolio", "state", "server", "cutoff", "selector", "seed", "report")
SOLVE_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_NO_DEFAULT),
    **{"project": "solve", "parallel": 1, "keep": 300.0, "stop": False},
}
"""Every option of `tailcut solve` with its default."""

_TYPES: dict[str, Callable[[str], Any]] = {"cutoff": float, "keep": float, "parallel": int, "seed": int}


def quick_options(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of a call of `tailcut solve`; None: it takes more to understand them.

    >>> quick_options(["--domain", "sat", "a.cnf"])["file"]
    'a.cnf'
    >>> quick_options(["--domian", "sat", "a.cnf"]) is None
    True
    """
    known = {f"--{name}": name for name in SOLVE_DEFAULTS if name != "file"}
    if any(word.startswith("--") and word.partition("=")[0] not in known for word in words):
        return None  # getopt would take the beginning of an option for all of it
    given = dict(SOLVE_DEFAULTS)
    try:
        options, files = gnu_getopt(
            words, "", [name if name == "stop" else f"{name}=" for name in known.values()]
        )
        for option, value in options:
            name = known[option]
            given[name] = True if name == "stop" else _TYPES.get(name, str)(value)
    except (GetoptError, ValueError):
        return None
    if len(files) > 1:
        return None
    given["file"] = files[0] if files and files[0] != "-" else None
    return given if solve_problem(given) is None else None


def solve_problem(given: dict[str, Any]) -> str | None:
    """Return what is wrong with the options of `tailcut solve`; None: nothing."""
    named = given["stop"] and (given["state"] or given["server"])
    if (given["domain"] is None) == (given["portfolio"] is None) and not named:
        return "give either --domain NAME or --portfolio FILE"
    if given["state"] is not None and given["server"] is not None:
        return "give either --state FILE or --server URL"
    for name in ("cutoff", "keep"):
        if given[name] is not None and not 0.0 < given[name] < float("inf"):
            return f"--{name} must be a finite number of seconds > 0, got {given[name]:g}"
    for name, least in (("parallel", 1), ("seed", 0)):
        if given[name] is not None and given[name] < least:
            return f"--{name} must be a whole number >= {least}, got {given[name]}"
    return None
