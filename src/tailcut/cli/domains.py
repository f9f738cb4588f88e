"""``tailcut domains``: the kinds of problems known by name, with the solvers found for each."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One domain. Without: all.")] = None,
    portfolio: Annotated[
        bool,
        typer.Option("--portfolio", help="Print the domain's portfolio file, for you to save and edit."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of text.")] = False,
) -> None:
    """List the domains, the solvers found for each, and what installs the others."""
    from tailcut.domains import domain_names, find_domain
    from tailcut.errors import InputError

    if portfolio:
        from tailcut.live.domain_portfolio import portfolio_text

        if name is None:
            raise InputError("the portfolio of which domain? Give its name")
        typer.echo(portfolio_text(name), nl=False)
        return
    rows = [_row(one, find_domain(one)) for one in ([name] if name is not None else domain_names())]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']}: {row['what']} ({', '.join(row['instances'])})")
        for solver in row["solvers"]:
            how = solver["where"] or (
                f"not installed: {solver['install']}" if solver["install"] else "not installed"
            )
            typer.echo(f"  {'ok' if solver['found'] else '- '} {solver['name']:<14} {how}")


def _row(name: str, domain: Any) -> dict[str, Any]:
    from tailcut.domains.domain import find_solvers

    return {
        "name": name,
        "what": domain.what,
        "instances": list(domain.instances),
        "extra": domain.extra,
        "checked": domain.verify is not None,
        "solvers": [
            {
                "name": one.solver.name,
                "what": one.solver.what,
                "found": one.way is not None,
                "where": one.where,
                "install": one.solver.install,
            }
            for one in find_solvers(domain)
        ],
    }
