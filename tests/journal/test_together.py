"""Several steps in one transaction: all or none, and no selector ahead of the journal."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import InputError, JournalError
from tailcut.journal import Journal, Project
from tailcut.types import Outcome


def description(selector: str = "thompson", **more: Any) -> dict[str, Any]:
    return {"selector": selector, "algorithms": ["a", "b"], "cutoff": 60.0, **more}


def test_steps_of_several_projects_are_one_transaction(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        one, two = (Project.create(journal, name, description()) for name in ("one", "two"))
        with Journal(tmp_path / "state.db", read_only=True) as reader:
            with journal.together():
                decision = one.select([1.0])
                two.select([1.0])
                one.observe(decision, Outcome.solved(1.0))
                assert reader.last(one.number) == reader.last(two.number) == 0
            assert (reader.last(one.number), reader.last(two.number)) == (3, 2)
        assert one.verify() == 2


def test_what_is_lost_together_leaves_no_trace(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        one, two = (Project.create(journal, name, description()) for name in ("one", "two"))
        decision = one.select([1.0])
        before = [project.selector.to_bytes() for project in (one, two)]
        (pages,) = journal.rows("PRAGMA page_count")[0]
        journal.rows(f"PRAGMA max_page_count = {pages}")

        def too_much() -> None:
            with journal.together():
                two.select([1.0])
                one.observe(decision, Outcome.solved(1.0))
                with pytest.raises(JournalError):  # whoever is told first ...
                    one.remark({"text": "x" * 500_000})
                with pytest.raises(JournalError):  # ... nobody after it is told anything else
                    two.select([1.0])

        with pytest.raises(JournalError) as caught:
            too_much()
        assert caught.value.full
        journal.rows("PRAGMA max_page_count = 1000000")
        assert [project.selector.to_bytes() for project in (one, two)] == before
        assert one.observe(decision, Outcome.solved(1.0))
        assert journal.rows("PRAGMA integrity_check") == [("ok",)]
        assert (one.verify(), two.verify()) == (2, 0)


def test_a_locked_file_is_told_and_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.journal.database.BUSY_SECONDS", 0.05)
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        project = Project.create(journal, "p", description())
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="locked") as caught:
            project.select([1.0])
        assert not caught.value.full
        other.execute("ROLLBACK")
        other.close()
        assert project.select([1.0]).id == 0


def test_the_same_key_gives_the_same_answer(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description("tailcut"))
        other = Project.create(journal, "q", description("tailcut"))
        first = project.select([1.0, 2.0], instance="i", key="k")
        assert project.select([1.0, 2.0], instance="i", key="k") == first
        with journal.together():
            second = project.select([1.0, 2.0], key="l")
            assert project.select([1.0, 2.0], key="l") == second
        assert other.select([1.0, 2.0], key="k").id == 0  # keys are a project's own
        assert len(list(project.history())) == 2
    with Journal(tmp_path / "state.db") as journal:
        assert Project(journal, "p").select([1.0, 2.0], instance="i", key="k") == first


def test_continuing_again_gives_the_same_answer(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description("round_robin"))
        first = project.select()
        project.observe(first, Outcome.censored(first.budget))
        second, repeated = project.proceed_again(first.id)
        assert second is not None
        assert not repeated
        again, repeated = project.proceed_again(first.id)
        assert repeated
        assert again == second
        project.observe(second, Outcome.censored(second.budget))
        assert project.proceed_again(second.id) == (None, False)
        events = len(list(project.history()))
        assert project.proceed_again(second.id) == (None, False)
        assert len(list(project.history())) == events  # what changes nothing is not written
        with pytest.raises(InputError, match="waits for its outcome"):
            project.proceed_again(project.select().id)
        project.verify()
