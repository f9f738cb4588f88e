"""Which Python modules a portfolio needs, found out before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailcut.domains import Domain
from tailcut.domains.domain import is_installed


def needed_module(domain: Domain, entry: str | None, words: Sequence[str]) -> str | None:
    """Return the module that a solver of a domain needs, by its entry point and arguments."""
    ways = [
        way
        for solver in domain.solvers
        for way in solver.ways
        if entry is not None and way.entry == entry and way.arguments[0] in words
    ]
    # a wheel and a program of the same solver may have one entry point: the program is one more argument
    same = [way for way in ways if len(way.arguments) == len(words)]
    return (same or ways)[0].module if ways else None


def worth_preloading(domain: Domain, needed: Iterable[str | None]) -> tuple[str, ...]:
    """Return the installed modules of the domain to preload, of solvers only those in the portfolio."""
    of_solvers = {way.module for solver in domain.solvers for way in solver.ways}
    wanted = set(needed)
    return tuple(
        module
        for module in domain.preload
        if (module not in of_solvers or module in wanted) and is_installed(module)
    )
