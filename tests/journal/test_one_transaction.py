"""Events written within one transaction are those that would be written one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, NewEvent, Project
from tailcut.types import Outcome

SETTINGS = {"selector": "thompson", "algorithms": ["a", "b"], "cutoff": 60.0}


def remark(text: str = "") -> NewEvent:
    return NewEvent(EventKind.REMARK, {"text": text})


def test_they_can_be_read_in_their_own_transaction(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = journal.create("p", {})
        with journal.together():
            assert journal.append(project, [remark("one"), remark("two")]) == 2
            assert journal.last(project) == 2
            assert journal.append(project, [remark("three")]) == 3
            assert [event.body["text"] for event in journal.events(project)] == ["one", "two", "three"]
        assert journal.append(project, [remark("four")]) == 4
        assert [event.number for event in journal.events(project)] == [1, 2, 3, 4]


def test_numbers_follow_when_events_are_removed(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        one, two = journal.create("one", {}), journal.create("two", {})
        with journal.together():
            assert journal.append(one, [remark()]) == 1
            assert journal.append(two, [remark(), remark()]) == 3
            journal.remove(two)
            assert journal.append(one, [remark()]) == 2
        assert [event.number for event in journal.events(one)] == [1, 2]


def test_a_transaction_that_is_lost_takes_them_along(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", SETTINGS)

        def lost() -> None:
            with journal.together():
                project.select([1.0])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            lost()
        assert project.last_event == project.statistics.decisions == 0
        assert project.select([1.0]).id == 0
        assert project.verify() == 1


def test_a_number_that_is_taken_is_an_error_that_ends_the_transaction(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = journal.create("p", {})
        made = NewEvent(EventKind.REMARK, {}, None, 7)

        def twice() -> None:
            with journal.together():
                journal.append(project, [made])
                with pytest.raises(JournalError, match="UNIQUE"):
                    journal.append(project, [made])
                with pytest.raises(JournalError, match="UNIQUE"):
                    journal.append(project, [remark()])

        with pytest.raises(JournalError, match="UNIQUE"):
            twice()
        assert journal.last(project) == 0
        assert journal.append(project, [remark()]) == 1


steps = st.lists(
    st.sampled_from(["select", "observe", "statistics", "remark", "last", "key", "proceed"]), max_size=30
)


def written(path: Path, groups: list[list[str]], *, together: bool) -> list[object]:
    """Return what is left of steps that are taken in groups, or one by one."""
    with Journal(path) as journal:
        project = Project.create(journal, "p", {**SETTINGS, "selector": "round_robin"})
        for group in groups:
            if together:
                with journal.together():
                    _take(project, group)
            else:
                _take(project, group)
        found = [(event.number, event.kind, event.body, event.key) for event in project.history()]
        return [found, project.selector.to_bytes(), project.statistics.decisions, project.verify()]


def _take(project: Project, group: list[str]) -> None:
    for number, step in enumerate(group):
        waiting = list(project.statistics.pending) if step == "observe" else []
        open_ = list(project.statistics.open) if step == "proceed" else []
        if step == "select":
            project.select([float(number)])
        elif step == "key":
            project.select([float(number % 3)], key=f"k{number % 3}")
        elif waiting:
            project.observe(waiting[0], Outcome.censored(5.0))
        elif open_:
            project.proceed(open_[0])
        elif step == "remark":
            project.remark({"number": number})
        elif step == "last":
            assert project.last_event == project.journal.last(project.number)


@settings(max_examples=40, deadline=None)
@given(groups=st.lists(steps, max_size=4))
def test_together_or_one_by_one_the_same_is_written(groups: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = written(Path(folder) / "alone.db", groups, together=False)
        assert written(Path(folder) / "together.db", groups, together=True) == alone
