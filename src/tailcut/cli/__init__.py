"""The command line: one module per command, put together in `tailcut.cli.app`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    if sys.argv[1:2] == ["solve"]:
        _solve_quickly(sys.argv[2:])
    try:
        from tailcut.cli.app import run

        run()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.stderr.write("the tailcut command needs the extra 'cli': pip install 'tailcut[cli]'\n")
        sys.exit(2)


def _solve_quickly(words: list[str]) -> None:
    """Run ``tailcut solve`` without loading anything else; return if its options are not that simple."""
    from tailcut.cli.solve_options import quick_options

    given = quick_options(words)
    if given is not None:
        from tailcut.solve.thin_client import run

        sys.exit(run(given))
