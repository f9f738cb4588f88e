"""The options of ``tailcut solve``, read without Typer: a solver is started often and must start fast.

Only what is certainly right is read here. Everything else, `--help` and mistakes above all, is left to Typer,
which has the same options (`tailcut.cli.solve`); a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

USUAL: dict[str, Any] = {
    "file": None,
    "domain": None,
    "portfolio": None,
    "state": None,
    "server": None,
    "project": "solve",
    "cutoff": None,
    "selector": None,
    "seed": 0,
    "parallel": 1,
    "report": None,
    "keep": 300.0,
    "stop": False,
}
"""Every option with the value it has where it is not given."""

_READ: dict[str, Callable[[str], Any]] = {"cutoff": float, "keep": float, "parallel": int, "seed": int}


def quick_options(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of a call; None: it takes more to understand them.

    >>> quick_options(["--domain", "sat", "a.cnf"])["file"]
    'a.cnf'
    >>> quick_options(["--domian", "sat", "a.cnf"]) is None
    True
    """
    given, files, left = dict(USUAL), list[str](), list(words)
    while left:
        word = left.pop(0)
        if word == "-" or not word.startswith("-"):
            files.append(word)
            continue
        name, equals, value = word.removeprefix("--").partition("=")
        if word[:2] != "--" or name not in USUAL or name == "file":
            return None
        if name == "stop":
            if equals:
                return None
            given[name] = True
            continue
        if not equals:
            if not left:
                return None
            value = left.pop(0)
        try:
            given[name] = _READ.get(name, str)(value)
        except ValueError:
            return None
    if len(files) > 1:
        return None
    given["file"] = files[0] if files and files[0] != "-" else None
    return given if problem_of(given) is None else None


def problem_of(given: dict[str, Any]) -> str | None:
    """Return what is wrong with the options of a call; None: nothing."""
    named = given["stop"] and (given["state"] or given["server"])
    if (given["domain"] is None) == (given["portfolio"] is None) and not named:
        return "give either --domain NAME or --portfolio FILE"
    if given["state"] is not None and given["server"] is not None:
        return "give either --state FILE or --server URL"
    for name in ("cutoff", "keep"):
        if given[name] is not None and not 0.0 < given[name] < float("inf"):
            return f"--{name} must be a finite number of seconds > 0, got {given[name]:g}"
    if given["parallel"] < 1:
        return f"--parallel must be a whole number >= 1, got {given['parallel']}"
    if given["seed"] < 0:
        return f"--seed must be a whole number >= 0, got {given['seed']}"
    return None
