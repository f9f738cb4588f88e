"""scipy.special, imported when first needed: importing it takes longer than all the rest of Tailcut.

`special.ndtr` and the like are scipy's functions; the first access imports scipy.special and keeps them.
"""

from __future__ import annotations

from typing import Any


def load() -> None:
    """Import scipy.special now, so that no decision has to wait for it."""
    import scipy.special  # noqa: F401


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from scipy import special

    value = getattr(special, name)
    globals()[name] = value
    return value
