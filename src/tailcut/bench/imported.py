"""Selectors from outside the package: modules that register them, imported wherever needed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from tailcut.errors import InputError


def import_selectors(modules: Iterable[str]) -> None:
    """Import modules that call `tailcut.register`, each once; raise if one cannot be imported."""
    for name in modules:
        if name in sys.modules:
            continue
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise InputError(f"module {name} needs {error.name}, which is not installed") from error
            hint = "; leave out .py" if name.endswith(".py") else ""
            where = f"{Path.cwd()}, nor among the installed ones"
            raise InputError(f"there is no module {name} in {where}{hint}") from error
        except Exception as error:  # third-party code may raise anything
            raise InputError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error
