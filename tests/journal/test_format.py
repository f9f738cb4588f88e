"""A file of format 1, written by the code of its time, is taken over as it is."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tailcut.errors import JournalError
from tailcut.journal import Journal, Project
from tailcut.types import Outcome

OLD = Path(__file__).parent / "data" / "format1.db"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(OLD, tmp_path / "state.db"))


def test_the_file_is_of_format_1() -> None:
    db = sqlite3.connect(f"file:{OLD}?mode=ro&immutable=1", uri=True)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()


def test_every_event_is_taken_over_and_repeats(old: Path) -> None:
    raw = sqlite3.connect(old)
    before = raw.execute("SELECT number, project, at, kind, body FROM events ORDER BY number").fetchall()
    raw.close()
    with Journal(old) as journal:
        rows = journal.rows("SELECT number, project, at, kind, body FROM events ORDER BY number")
        assert rows == before
        assert list(journal.projects()) == ["thompson_rev", "tailcut_schedule", "untouched"]
        for name in journal.projects():
            project = Project(journal, name)
            assert project.verify() == len(list(project.history()))
            assert project.tally.events == project.verify()


def test_decisions_are_found_by_number_and_life_goes_on(old: Path) -> None:
    with Journal(old) as journal:
        project = Project(journal, "thompson_rev")
        made = journal.made(project.number, 0)
        assert made is not None
        assert made.kind == "select"
        decision = project.select([1.0, 2.0, 3.0, 4.0], key="k1")
        assert project.observe(decision, Outcome.solved(1.0))
        project.keep()
    with Journal(old) as journal:
        again = Project(journal, "thompson_rev")
        assert again.answered("k1", "k2") == {"k1": decision}
        again.verify()


def test_reading_does_not_migrate(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(JournalError, match="state format 1 is old"):
        Journal(old, read_only=True)
    assert old.read_bytes() == before
