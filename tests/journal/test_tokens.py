"""Tokens that cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.journal import Tokens
from tests.journal.state_files import filled


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return filled(tmp_path / "state.db")


def test_wrong_tokens_are_not_made(file: Path) -> None:
    tokens = Tokens(file)
    tokens.create("one", ["read"])
    for name, scopes in [("one", ["read"]), ("a b", ["read"]), ("two", []), ("three", ["admin"])]:
        with pytest.raises(InputError):
            tokens.create(name, scopes)
    with pytest.raises(InputError, match="no token 'four'"):
        tokens.revoke("four")
