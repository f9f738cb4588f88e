"""``tailcut token``: tokens are made once, kept as hashes, and end when revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailcut.journal import Journal, Tokens
from tailcut.journal.tokens import hashed, scopes_of
from tests.journal.state_files import filled, tailcut


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return filled(tmp_path / "state.db")


def test_tokens_are_kept_hashed_and_end_when_revoked(file: Path) -> None:
    made = tailcut("token", "create", file, "farm", "--scope", "read", "--scope", "write")
    token = made.stdout.strip()
    assert len(token) > 40
    tokens = Tokens(file)
    assert scopes_of(token, tokens.all()) == frozenset({"read", "write"})
    assert scopes_of(token + "x", tokens.all()) is None
    whole = b"".join(path.read_bytes() for path in file.parent.iterdir() if path.is_file())
    assert token.encode() not in whole
    assert hashed(token).encode() in whole
    with Journal(file):  # also while a server writes
        assert tailcut("token", "revoke", file, "farm").returncode == 0
    assert scopes_of(token, tokens.all()) is None
    listed = json.loads(tailcut("token", "list", file, "--json").stdout)
    assert [(one["name"], one["scopes"], one["revoked"] is None) for one in listed] == [
        ("farm", ["read", "write"], False)
    ]
