"""The option --aslib: the folder that holds the scenarios' folders, the same for every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailcut.errors import InputError
from tailcut.scenarios import bundled

AslibOption = Annotated[
    Path | None,
    typer.Option(
        "--aslib",
        envvar="TAILCUT_ASLIB",
        metavar="DIR",
        help="Folder with one ASlib scenario per subfolder.",
    ),
]


def existing(aslib: Path | None) -> Path:
    """Return the folder, or say how to name it."""
    if aslib is None:
        raise InputError("no ASlib folder: give --aslib DIR or set the environment variable TAILCUT_ASLIB")
    if not aslib.is_dir():
        raise InputError(f"--aslib {aslib}: no such folder")
    return aslib


def or_bundled(aslib: Path | None) -> Path:
    """Return the folder, or that of the bundled scenario if none is named."""
    return bundled.FOLDER if aslib is None else existing(aslib)
