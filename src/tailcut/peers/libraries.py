"""Third-party libraries, imported only when a policy that needs them is built."""

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
