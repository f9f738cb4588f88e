"""Instances drawn at random: the programs that write them, in any domain."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tailcut.domains.oneline import OneLineParser
from tailcut.errors import TailcutError

Family = Callable[[random.Random], str]
"""Draws an instance, as text."""


def write_instances(
    folder: Path, count: int, seed: int, families: Mapping[str, Family], ending: str
) -> list[Path]:
    """Write instances, the families in turn, named FAMILY-NUMBER; the same seed writes the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number in range(count):
        name = list(families)[number % len(families)]
        path = folder / f"{name}-{number:04}.{ending}"
        path.write_text(families[name](random.Random(f"{seed} {number} {name}")), encoding="ascii")
        written.append(path)
    return written


def generate_program(
    module: str, families: Mapping[str, Family], ending: str, arguments: Sequence[str] | None
) -> int:
    """Write the instances that the arguments ask for; return the exit code."""
    parser = OneLineParser(
        prog=f"python -m {module}",
        description=f"Write instances of {len(families)} families in turn: {', '.join(families)}.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="where to; created if missing")
    parser.add_argument("--count", type=int, default=60, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same files (default: %(default)s)")
    try:
        given = parser.parse_args(arguments)
        written = write_instances(Path(given.folder), given.count, given.seed, families, ending)
    except SystemExit:  # --help has been printed
        return 0
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"{module}: {error}\n")
        return 2
    sys.stdout.write(f"{given.folder}: {len(written)} instances written\n")
    return 0
