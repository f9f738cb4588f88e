"""The scenarios of a folder: one per subfolder, as the ASlib repository has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tailcut.errors import InputError, NotRuntimeError, did_you_mean
from tailcut.scenarios import Scenario, description
from tailcut.scenarios.aslib_reader import QUALITY
from tailcut.scenarios.problems import Problems


def names_in(folder: Path) -> list[str]:
    """Return the names of the scenarios in a folder, which are those of its subfolders."""
    return sorted(path.parent.name for path in folder.glob("*/description.txt"))


def quality_names(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Return which of the wanted scenarios of a folder judge the quality of solutions, not times."""
    found = []
    for name in dict.fromkeys(wanted):
        file = folder / name / description.FILE
        read = description.parse(file.read_bytes(), Problems()) if file.is_file() else None
        if read is not None and read.types[0] == QUALITY:
            found.append(name)
    return found


def scenarios_in(
    folder: Path,
    wanted: Sequence[str] | None = None,
    preferred: Sequence[str] | None = None,
    on_left_out: Callable[[str, str], None] = lambda _name, _reason: None,
) -> list[tuple[str, Scenario]]:
    """Return the wanted scenarios with their folders; if none is named, the preferred ones, or all.

    A named scenario must exist and be about runtimes. Others that are not are left out, and `on_left_out` is
    called with the name and the reason.
    """
    present = names_in(folder)
    if not present:
        raise InputError(f"{folder}: holds no scenario (no folder with a description.txt)")
    unknown = [name for name in wanted or () if name not in present]
    if unknown:
        missing = ", ".join(f"{name}{did_you_mean(name, present)}" for name in unknown)
        raise InputError(f"{folder} holds no scenario {missing}; it holds: {', '.join(present)}")
    found = []
    for name in dict.fromkeys(wanted or preferred or present):
        if name not in present:
            on_left_out(name, f"{name} is not in {folder}")
            continue
        try:
            found.append((str((folder / name).resolve()), Scenario.read(folder / name)))
        except NotRuntimeError as error:
            if wanted:
                raise
            on_left_out(name, str(error))
    return found
