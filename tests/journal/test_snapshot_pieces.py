"""Snapshots larger than SQLite takes in one value: stored in pieces, and put together again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tailcut.errors import JournalError
from tailcut.journal import Journal, Project, file

SETTINGS = {"selector": "thompson", "algorithms": ["a", "b"], "cutoff": 60.0}


def _begun(path: Path) -> bytes:
    with Journal(path) as journal:
        project = Project.create(journal, "p", SETTINGS)
        for row in range(20):
            project.observe(project.select([float(row), 1.0, 2.0]), runtime=1.0 + row)
        project.keep()
        return project.selector.to_bytes()


def test_a_snapshot_may_have_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PIECE", 100)
    path = tmp_path / "state.db"
    selector = _begun(path)
    with sqlite3.connect(path) as db:
        (pieces,) = db.execute("SELECT count(*) FROM pieces").fetchone()
    db.close()
    assert pieces > 5
    with Journal(path) as journal:
        project = Project(journal, "p")
        assert project.selector.to_bytes() == selector
        assert project.verify() == 40
        project.observe(project.select([1.0, 1.0, 2.0]), runtime=2.0)
        project.keep()  # a new one, in place of all pieces of the old
    with Journal(path, read_only=True) as journal:
        assert Project(journal, "p").verify() == 42


def test_a_lost_piece_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PIECE", 100)
    path = tmp_path / "state.db"
    _begun(path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM pieces WHERE part = 3")
    db.close()
    with Journal(path, read_only=True) as journal, pytest.raises(JournalError, match="snapshot"):
        Project(journal, "p")
