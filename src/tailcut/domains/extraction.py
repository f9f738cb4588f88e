"""The programs that print features, in any domain: one file in, one JSON object out."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence

from tailcut.domains.oneline import OneLineParser
from tailcut.errors import TailcutError


def print_features(
    module: str,
    extract: Callable[[str], Mapping[str, float | None]],
    arguments: Sequence[str] | None,
    what: str = "file",
) -> int:
    """Print the features of the file that is named by the arguments; return the exit code."""
    parser = OneLineParser(
        prog=f"python -m {module}",
        description=f"Print the features of a {what} (plain, .gz, .xz or .bz2) as a JSON object.",
    )
    parser.add_argument("file", metavar="FILE", help=f"the {what}")
    try:
        found = extract(parser.parse_args(arguments).file)
    except SystemExit:  # --help has been printed
        return 0
    except TailcutError as error:
        sys.stderr.write(f"{module}: {error}\n")
        return 2
    finite = {name: one if one is not None and math.isfinite(one) else None for name, one in found.items()}
    sys.stdout.write(json.dumps(finite) + "\n")
    sys.stdout.flush()
    return 0
