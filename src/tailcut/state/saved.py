"""Saving an object to a file and loading it again."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from tailcut.errors import InputError, StateFileError
from tailcut.state import statefile


class Saved(ABC):
    """An object that can be saved and loaded, by its state as plain values."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return everything, as arrays and plain values (`tailcut.state.statefile`)."""

    @classmethod
    @abstractmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """Return the object with this state."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, atomically; `load` continues from it bit for bit."""
        statefile.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the object saved in a file, or raise a `StateFileError` that names the problem."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except StateFileError as error:
            raise StateFileError(f"{os.fspath(path)}: {error}") from None

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes."""
        return statefile.pack({"kind": kind_of(type(self)), **self._state()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the object whose `to_bytes` returned `data`."""
        state = statefile.unpack(data)
        kind = kind_of(cls)
        if not isinstance(state.get("kind"), str) or state["kind"] != kind:
            raise StateFileError(f"this is a Tailcut state, but not that of a {kind}")
        try:
            return cls._from_state(state)
        except InputError as error:
            raise StateFileError(f"the saved {kind} cannot be made here: {error}") from error
        except KeyError as error:
            raise StateFileError(f"the state of the {kind} lacks {error}") from error
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            if isinstance(error, StateFileError):
                raise
            raise StateFileError(f"the state of the {kind} does not fit together: {error}") from error


def kind_of(cls: type) -> str:
    """Return what a saved selector calls the objects of a class.

    >>> kind_of(Saved)
    'saved'
    """
    return cls.__name__.lower()
