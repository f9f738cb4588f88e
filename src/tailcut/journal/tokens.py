"""Tokens: who may read and who may write, kept as hashes in the state file.

A token is 256 random bits, so a plain SHA-256 is as good as a slow hash, which is for what can be guessed.
Tokens may be created and revoked while another process writes events.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tailcut.errors import InputError, JournalError
from tailcut.journal.database import check_format, connect, connect_to_read, translated_errors

SCOPES = ("read", "write")
PREFIX = "tailcut_"
"""The prefix of a token, by which people and scanners recognise it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token(NamedTuple):
    """What is stored about a token; the token itself is not."""

    name: str
    hash: str
    scopes: frozenset[str]
    created: float
    revoked: float | None


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def scopes_of(token: str, known: Iterable[Token]) -> frozenset[str] | None:
    """Return what a token allows; None if it is unknown or revoked.

    Every known token is compared, each in constant time, so the time reveals nothing.
    """
    presented, found = hashed(token), None
    for one in known:
        if hmac.compare_digest(presented, one.hash) and one.revoked is None:
            found = one.scopes
    return found


class Tokens:
    """The tokens of a state file, which exists.

    >>> import tempfile
    >>> from tailcut.journal import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "state.db"
    >>> Journal(path).close()
    >>> tokens = Tokens(path)
    >>> secret = tokens.create("dashboard", ["read"])
    >>> sorted(scopes_of(secret, tokens.all())), scopes_of("guessed", tokens.all())
    (['read'], None)
    >>> tokens.revoke("dashboard")
    >>> scopes_of(secret, tokens.all()) is None
    True
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise JournalError(f"{self.path}: there is no such state file")
        with self._open("ro") as db:
            check_format(self.path, db)

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        with ExitStack() as opened, translated_errors(self.path):
            reading = mode == "ro"
            db = connect_to_read(self.path, opened) if reading else connect(self.path, mode, opened)
            db.execute("PRAGMA synchronous = FULL")
            yield db

    def create(self, name: str, scopes: Iterable[str]) -> str:
        """Create a token and return it; it cannot be retrieved later."""
        wanted = sorted(set(scopes))
        if not _NAME.fullmatch(name):
            words = f"name of a token must be letters, digits and . _ -, at most 64, got {name!r}"
            raise InputError(words, field="name")
        if not wanted or set(wanted) - set(SCOPES):
            words = f"scopes must be of {', '.join(SCOPES)}, got {', '.join(wanted) or 'none'}"
            raise InputError(words, field="scopes")
        token = PREFIX + secrets.token_urlsafe(32)
        with self._open("rw") as db:
            if db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone():
                raise InputError(f"{self.path}: there is a token {name!r} already", field="name")
            values = (name, hashed(token), " ".join(wanted), time.time())
            db.execute("INSERT INTO tokens (name, hash, scopes, created) VALUES (?, ?, ?, ?)", values)
        return token

    def revoke(self, name: str) -> None:
        """Revoke a token; its name stays reserved."""
        with self._open("rw") as db:
            query = "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE name = ?"
            if not db.execute(query, (time.time(), name)).rowcount:
                raise InputError(f"{self.path}: there is no token {name!r}", field="name")

    def all(self) -> list[Token]:
        with self._open("ro") as db:
            query = "SELECT name, hash, scopes, created, revoked FROM tokens ORDER BY number"
            return [
                Token(str(name), str(digest), frozenset(str(scopes).split()), created, revoked)
                for name, digest, scopes, created, revoked in db.execute(query)
            ]
