"""The option --domain of commands that run solvers: a domain's solvers in place of a portfolio file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailcut.errors import InputError

if TYPE_CHECKING:
    from tailcut.live.portfolio import Portfolio

DomainOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Use every solver found for a domain, such as smt or mip, instead of a portfolio file; see "
        "`tailcut "
        "domains`. Then all arguments are instances.",
    ),
]


def chosen_portfolio(
    domain: str | None, portfolio: str | None, instances: list[str] | None
) -> tuple[Portfolio, list[str]]:
    """Return the portfolio of the domain, or of the file that comes before the instances; and these."""
    given = list(instances or [])
    if domain is not None:
        from tailcut.live.portfolio import domain_portfolio, found_words

        read = domain_portfolio(domain)
        sys.stderr.write(f"{found_words(domain)}\n")
        return read, given if portfolio is None else [portfolio, *given]
    if portfolio is None:
        raise InputError("there is nothing to run: give a portfolio file, or --domain, see `tailcut domains`")
    if Path(portfolio).is_dir():
        raise InputError(
            f"{portfolio}: is a folder; give a portfolio file before the instances, or --domain NAME"
        )
    from tailcut.live.portfolio import read_portfolio

    return read_portfolio(Path(portfolio)), given
