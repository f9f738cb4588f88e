"""The option --import: modules that register selectors of the user's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

ModulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="Module that registers your selectors, in this folder or installed; repeat for more.",
    ),
]


def import_with_folder(modules: Sequence[str]) -> None:
    """Import the user's modules; those of the current folder are found as by `python -m`.

    Processes started later get the same search path.
    """
    from tailcut.bench.execution import import_selectors

    if modules and not {"", str(Path.cwd())} & set(sys.path):
        sys.path.insert(0, str(Path.cwd()))
    import_selectors(modules)
