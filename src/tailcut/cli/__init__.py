"""The command line: one module per command, put together in `tailcut.cli.app`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        from tailcut.cli.app import run

        run()
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.stderr.write("the tailcut command needs the extra 'cli': pip install 'tailcut[cli]'\n")
        sys.exit(2)
