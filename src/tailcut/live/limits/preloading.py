"""Loads the modules of entry points in the server that solvers are forked from.

Usually all modules are loaded in one process. Some clash: one fails or crashes when another is already
loaded, or changes `sys.path`, so that the next imports the wrong module. Then each entry point has its own
server, which loads its module first, and of the others only those that are compatible with it. This is tested
in a forked process.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence


class PreloadError(Exception):
    """A module cannot be loaded; the text says why."""

    def __init__(self, message: str, *, clash: bool) -> None:
        super().__init__(message)
        self.clash = clash
        """Whether other loaded modules may be the cause."""


def load(modules: Sequence[str], entry: str | None = None) -> None:
    """Load modules; for the module of an entry point, only those compatible with it.

    >>> load(["json", "json.decoder"])
    >>> load(["json", "no_such_module"], entry="json")
    """
    if entry is None:
        for module in modules:
            _load(module, alone=len(modules) == 1)
        return
    _load(entry, alone=True)
    for module in modules:
        if module != entry and _gets_along(module):
            _load(module, alone=False)


def _load(module: str, *, alone: bool) -> None:
    before = list(sys.path)
    try:
        importlib.import_module(module)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        raise PreloadError(f"cannot preload {module}: {error}", clash=not (alone or absent)) from error
    if sys.path != before and not alone:
        raise PreloadError(f"cannot preload {module} with others: it changes sys.path", clash=True)


def _gets_along(module: str) -> bool:
    """Return whether a module can be loaded here without affecting the others, tested in a fork."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            _load(module, alone=False)
            code = 0
        except PreloadError:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1] == 0
