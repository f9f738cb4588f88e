"""The option --warm-start: where recorded runs are that a selector begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailcut.cli.aslib_folder import scenario_folder
from tailcut.errors import InputError

WHERE = "A scenario's folder (`tailcut measure` writes one), its name in --aslib, or another state file"

WarmStartOption = Annotated[
    str | None,
    typer.Option("--warm-start", metavar="WHERE", help=f"Learn recorded runs first, once. {WHERE}."),
]


def past_source(given: str, aslib: Path | None) -> Path:
    """Return the folder of the scenario, or the state file, that is meant."""
    path = Path(given)
    if path.suffix == ".db" and not path.exists():
        raise InputError(f"--warm-start {given}: there is no such state file")
    return path if path.is_file() else scenario_folder(given, aslib)
