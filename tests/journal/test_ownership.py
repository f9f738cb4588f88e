"""One writer at a time, whatever path leads to the file; and a file that vanishes is noticed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, NewEvent, Project
from tests.journal.state_files import tailcut

SETTINGS = {"selector": "thompson_rev", "algorithms": ["a", "b"], "cutoff": 60.0}


def test_a_symbolic_link_is_no_way_around_the_lock(tmp_path: Path) -> None:
    path, link = tmp_path / "state.db", tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with Journal(path), pytest.raises(JournalError, match="another process is writing"):
        Journal(link)
    with Journal(link), pytest.raises(JournalError, match="another process is writing"):
        Journal(path)


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Journal(path).close()
    os.link(path, tmp_path / "other.db")
    with pytest.raises(JournalError, match="a second name"):
        Journal(tmp_path / "other.db")


def test_after_its_lock_was_removed_only_the_latest_writes(tmp_path: Path) -> None:
    """Both hold a lock then; who opened the file first finds out before anything is written."""
    path = tmp_path / "state.db"
    with Journal(path) as first:
        one = Project.create(first, "p", SETTINGS)
        one.select([1.0])
        (tmp_path / "state.db-lock").unlink()
        with Journal(path) as second:
            two = Project(second, "p")
            assert two.select([2.0]).id == 1
            with pytest.raises(JournalError, match="taken this state file over"):
                one.select([3.0])
            with pytest.raises(JournalError, match="taken this state file over"), first.together():
                one.select([3.0])
            assert two.select([4.0]).id == 2
    with Journal(path) as journal:
        assert Project(journal, "p").verify() == 3


def test_no_decision_is_written_twice(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", SETTINGS)
        project.select([1.0])
        body = next(project.history()).body
        with pytest.raises(JournalError, match="UNIQUE"):
            journal.append(project.number, [NewEvent(EventKind.SELECT, body, None, 0)])


@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(tmp_path: Path, part: str, replaced: bool) -> None:
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        project = Project.create(journal, "p", SETTINGS)
        decision = project.select([1.0])
        victim, aside = tmp_path / f"state.db{part}", tmp_path / "aside"
        victim.rename(aside)
        if replaced:
            shutil.copy(aside, victim)
        for _ in range(2):
            with pytest.raises(JournalError, match=f"state.db{part} was removed or replaced"):
                project.select([2.0])
        with pytest.raises(JournalError, match="removed or replaced"), journal.together():
            project.observe(decision, runtime=1.0)
        aside.replace(victim)
        project.select([2.0])


def test_a_new_state_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        with Journal(tmp_path / "state.db"):
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert set(modes) == {"state.db", "state.db-wal", "state.db-shm", "state.db-lock"}
    assert set(modes.values()) == {0o600}


def test_two_commands_through_two_paths(tmp_path: Path) -> None:
    path, link = tmp_path / "state.db", tmp_path / "link.db"
    link.symlink_to(path)
    with Journal(path):
        refused = tailcut("state", "compact", link)
    assert (refused.returncode, "another process is writing" in refused.stderr) == (2, True)
