"""The portfolio of a domain: all its solvers that are found on this machine."""

from __future__ import annotations

from tailcut.domains import find_domain
from tailcut.domains.domain import FoundSolver, find_solvers
from tailcut.errors import InputError
from tailcut.live.portfolio import Portfolio, parse_portfolio

CUTOFF = 300
"""Default CPU seconds per instance."""


def domain_portfolio(name: str) -> Portfolio:
    """Return the portfolio of a domain with all solvers found here; raise if there are none."""
    return parse_portfolio(portfolio_text(name), f"--domain {name}")


def portfolio_text(name: str) -> str:
    """Return that portfolio as the text of a TOML file, to be saved and edited."""
    solvers = find_solvers(find_domain(name))
    found = [one.solver.name for one in solvers if one.way is not None]
    if not found:
        raise InputError(f"no solver of the domain {name} is installed: {installable(solvers)}")
    return "\n".join(
        [f'domain = "{name}"', f"cutoff = {CUTOFF}", *(f"\n[solvers.{solver}]" for solver in found), ""]
    )


def found_words(name: str) -> str:
    """Return a sentence that names the solvers found, and one on those that could be installed."""
    solvers = find_solvers(find_domain(name))
    found = ", ".join(one.solver.name for one in solvers if one.way is not None)
    more = installable(solvers)
    return f"{name}: {found}" + (f"; could be installed: {more}" if more else "")


def installable(solvers: list[FoundSolver]) -> str:
    """Return what is not installed and how it could be, empty if nothing is left.

    >>> from tailcut.domains.domain import DomainSolver, as_program
    >>> way = as_program("no-such-program", install="apt install it")
    >>> installable([FoundSolver(DomainSolver("it", "a solver", (way,)))])
    'it (apt install it)'
    """
    lacking = [one.solver for one in solvers if one.way is None and one.solver.install]
    return ", ".join(f"{solver.name} ({solver.install})" for solver in lacking)
