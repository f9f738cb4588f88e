"""Other people's selectors as rows of the catalogue, for comparison (docs/background/peers.md).

The rows are in `tailcut.peers.rows`; the catalogue knows their names, and nothing there is imported before
one of them is asked for. The libraries come with the extra ``peers``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tailcut.errors import MissingExtraError

EXTRA = "peers"
"""The extra that installs all of them but ASF."""
ASF_EXTRA = "asf"
"""Its own: whatever is used of ASF, scikit-survival (GPL) and clingo are imported with it."""


def library(module: str, extra: str = EXTRA) -> Any:
    """Return a module of a library; raise with the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtraError(f"{name} cannot be imported: pip install 'tailcut[{extra}]'") from error
