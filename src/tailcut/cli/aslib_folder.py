"""The option --aslib: the folder that holds the scenarios' folders, the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tailcut.errors import InputError, did_you_mean

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


def or_bundled(aslib: Path | None, wanted: Sequence[str] = ()) -> Path:
    """Return the folder, or that of the bundled scenario if none is named and no other one is wanted."""
    from tailcut.scenarios import bundled
    from tailcut.scenarios.aslib_reader import names_in

    if aslib is not None:
        return existing(aslib)
    present = names_in(bundled.FOLDER)
    for name in wanted:
        if name not in present:
            raise InputError(
                f"scenario {name}{did_you_mean(name, present)} is not bundled, {', '.join(present)} is: give "
                "--aslib DIR or set the environment variable TAILCUT_ASLIB to the folder that holds it; "
                f"`tailcut scenario fetch {name} --to DIR` fetches it"
            )
    return bundled.FOLDER


def scenario_folder(given: str, aslib: Path | None) -> Path:
    """Return the folder of a scenario that is given by its path, or by its name where --aslib says."""
    from tailcut.scenarios.aslib_reader import names_in

    path = Path(given)
    if path.exists() or path.name != given:
        return path
    folder = or_bundled(aslib, [given])
    if given not in names_in(folder):
        question = did_you_mean(given, names_in(folder))
        raise InputError(f"{given}{question} is neither a folder here nor a scenario in {folder}")
    return folder / given
