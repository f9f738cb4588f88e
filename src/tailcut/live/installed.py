"""What a portfolio needs of Python, and whether it is installed: known before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from tailcut.domains import Domain


def is_installed(module: str) -> bool:
    """Return whether a module can be found; nothing but its parents is imported.

    >>> is_installed("json.decoder"), is_installed("no_such_module.at_all")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def needed_module(domain: Domain, entry: str | None, words: Sequence[str]) -> str | None:
    """Return the module that a solver of a domain needs, by its entry point and arguments."""
    by_name = domain.solver_needs.get(entry or "", {})
    return next((by_name[word] for word in words if word in by_name), None)


def worth_preloading(domain: Domain, needed: Iterable[str | None]) -> tuple[str, ...]:
    """Return the domain's modules to preload: installed, and of solvers only those that the portfolio has."""
    of_solvers = {module for by_name in domain.solver_needs.values() for module in by_name.values()}
    wanted = set(needed)
    return tuple(
        module
        for module in domain.preload
        if (module not in of_solvers or module in wanted) and is_installed(module)
    )
