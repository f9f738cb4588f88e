"""Access rights: the scopes of tokens, read from the state file from time to time."""

from __future__ import annotations

import time
from pathlib import Path

from tailcut.errors import JournalError
from tailcut.journal.tokens import Token, Tokens, scopes_of

FRESH = 0.2
"""Seconds after which the tokens are read again; until then a revoked one may still work."""
EAGER = 0.1
"""Seconds after which an unknown token, which may be new, makes the server read them again."""


class Access:
    """Knows the tokens of a state file."""

    def __init__(self, path: Path) -> None:
        self._tokens = Tokens(path)
        self._known: list[Token] = self._tokens.all()
        self._read = time.monotonic()

    def scopes(self, header: str | None) -> frozenset[str] | None:
        """Return the scopes of an ``Authorization`` header; None if the token is unknown."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        self._refresh(FRESH)
        found = scopes_of(token.strip(), self._known)
        if found is None and self._refresh(EAGER):
            found = scopes_of(token.strip(), self._known)
        return found

    def _refresh(self, age: float) -> bool:
        """Read the tokens again unless that was done just now; return whether they were read."""
        if time.monotonic() - self._read <= age:
            return False
        self._read = time.monotonic()
        try:
            self._known = self._tokens.all()
        except JournalError:  # locked for the moment: use what was known a second ago
            return False
        return True
