"""``tailcut selectors``: what there is to choose from."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer


def listing() -> list[dict[str, Any]]:
    from tailcut.bench.labels import ContenderKind
    from tailcut.catalogue import BASELINES, DEFAULT_SELECTOR, find_all

    baselines = [_without_parts(name, summary, ContenderKind.BASELINE) for name, summary in BASELINES.items()]
    recipes = sorted(find_all(), key=lambda recipe: recipe.name != DEFAULT_SELECTOR)  # the default first
    return [recipe.describe() for recipe in recipes] + baselines


def _without_parts(name: str, summary: str, kind: str) -> dict[str, Any]:
    row = {"name": name, "summary": summary, "kind": kind}
    return {**row, "takes_losses": False, "parts": {}, "hyperparameters": {}}


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| name | kind | what it does | parts | hyperparameters |", "|---|---|---|---|---|"]
    shown = ("representation", "policy", "model", "censoring", "exploration", "loss")
    for row in rows:
        parts = ", ".join(f"`{row['parts'][slot]}`" for slot in shown if slot in row["parts"])
        settings = ", ".join(f"{key} {value}" for key, value in row["hyperparameters"].items())
        kind = f"{row['kind']}, losses" if row["takes_losses"] else row["kind"]
        lines.append(f"| `{row['name']}` | {kind} | {row['summary']} | {parts} | {settings} |")
    return "\n".join(lines)


def command(
    as_json: bool = typer.Option(False, "--json"),
    as_markdown: bool = typer.Option(False, "--markdown"),
) -> None:
    """List every selector with its parts and hyperparameters."""
    from tailcut.catalogue import find_broken

    rows, broken = listing(), find_broken()
    for problem in broken.values():
        typer.echo(f"left out: {problem}", err=True)
    if as_json or as_markdown:
        left_out = [_without_parts(name, problem, "broken") for name, problem in broken.items()]
        typer.echo(json.dumps(rows + left_out, indent=2) if as_json else markdown(rows))
        return
    from rich.console import Console
    from rich.padding import Padding

    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    for row in rows:
        settings = " ".join(f"{key}={value}" for key, value in row["hyperparameters"].items())
        losses = ", also on losses" if row["takes_losses"] else ""
        console.print(f"[bold]{row['name']}[/bold] ({row['kind']}{losses})")
        for line in filter(None, (row["summary"], settings)):
            console.print(Padding(line, (0, 0, 0, 4)))
