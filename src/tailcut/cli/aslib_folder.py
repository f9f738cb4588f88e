"""The option --aslib: the folder that holds the scenarios' folders, the same for every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailcut import bundled
from tailcut.errors import InputError

AslibOption = Annotated[
    Path | None,
    typer.Option(
        "--aslib",
        envvar="TAILCUT_ASLIB",
        metavar="DIR",
        help="Folder with one ASlib scenario per subfolder. Without: the bundled scenario.",
    ),
]


def existing(aslib: Path | None) -> Path:
    """Return the folder, that of the bundled scenario if none is named, or say that it is not there."""
    if aslib is None:
        return bundled.FOLDER
    if not aslib.is_dir():
        raise InputError(f"--aslib {aslib}: no such folder")
    return aslib
