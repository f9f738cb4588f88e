"""``tailcut domains``: the kinds of problems known by name, with the solvers found for each."""

from __future__ import annotations

from typing import Any

import typer

from tailcut.cli.options import JSON, show
from tailcut.errors import InputError


def command(
    name: str | None = typer.Argument(None, metavar="NAME"),
    portfolio: bool = typer.Option(False, "--portfolio"),
    as_json: JSON = False,
) -> None:
    """List the domains, the solvers found for each, and what installs the others."""
    from tailcut.domains import domain_names, find_domain

    if portfolio:
        from tailcut.live.portfolio import portfolio_text

        if name is None:
            raise InputError("the portfolio of which domain? Give its name")
        typer.echo(portfolio_text(name), nl=False)
        return
    rows = [_row(one, find_domain(one)) for one in ([name] if name is not None else domain_names())]
    lines = []
    for row in rows:
        lines.append(f"{row['name']}: {row['what']} ({', '.join(row['instances'])})")
        for solver in row["solvers"]:
            how = solver["where"] or ": ".join(filter(None, ["not installed", solver["install"]]))
            lines.append(f"  {'ok' if solver['found'] else '- '} {solver['name']:<14} {how}")
    show(rows, lines, as_json=as_json)


def _row(name: str, domain: Any) -> dict[str, Any]:
    from tailcut.domains.domain import find_solvers

    found = find_solvers(domain)
    return {
        "name": name,
        "what": domain.what,
        "instances": list(domain.instances),
        "extra": domain.extra,
        "checked": domain.verify is not None,
        "solvers": [
            {
                "name": one.name,
                "what": one.what,
                "found": one.name in found,
                "where": found[one.name].where if one.name in found else "",
                "install": one.install,
            }
            for one in domain.solvers
        ],
    }
