"""The journal file: what is acknowledged stays, what is foreign is refused, a full disk damages nothing."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, NewEvent, Tokens
from tailcut.journal.database import PAGE, create

WRITER = """
import sys
from tailcut.journal import EventKind, Journal, NewEvent
with Journal(sys.argv[1]) as journal:
    project = journal.projects().get("p") or journal.create("p", {})
    first = sum(1 for _ in journal.events(project))
    for number in range(first, first + 100_000):
        pair = [NewEvent(kind, {"number": number}) for kind in (EventKind.REMARK, EventKind.RUN)]
        journal.append(project, pair[: 1 + number % 2])
        print(number, flush=True)
"""


def remark(body: dict[str, Any]) -> NewEvent:
    return NewEvent(EventKind.REMARK, body)


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    chance = random.Random(7)
    acknowledged: set[int] = set()
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            said = writer.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.15))
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read()
        lines = (said + rest).split(b"\n")[:-1]  # the last may be torn
        acknowledged |= {int(line) for line in lines}
        with Journal(path, read_only=True) as journal:
            events = list(journal.events(journal.projects()["p"]))
        counted = [event.body["number"] for event in events if event.kind is EventKind.REMARK]
        assert acknowledged <= set(counted)
        twins = [event.body["number"] for event in events if event.kind is EventKind.RUN]
        assert twins == [number for number in counted if number % 2]  # all of a transaction or nothing


def test_events_come_back_in_order_by_project(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        one, two = journal.create("one", {"a": 1}), journal.create("two", {})
        for number in range(5):
            journal.append((one, two)[number % 2], [remark({"number": number, "text": "ä\n"})])
        assert [event.body["number"] for event in journal.events(one)] == [0, 2, 4]
        second = next(iter(journal.events(two)))
        assert [event.body["number"] for event in journal.events(two, after=second.number)] == [3]
        assert journal.projects() == {"one": one, "two": two}
        assert journal.description(one) == {"a": 1}


def test_a_file_keeps_its_page_size(tmp_path: Path) -> None:
    smaller = tmp_path / "smaller.db"
    with sqlite3.connect(smaller) as raw:
        raw.execute("PRAGMA page_size = 4096")
        create(raw)
    raw.close()
    for path, size in ((smaller, 4096), (tmp_path / "new.db", PAGE)):
        for count in (1, 2):
            with Journal(path) as journal:
                project = journal.projects().get("p") or journal.create("p", {})
                journal.append(project, [remark({"text": "x" * 10_000})])
                assert journal.rows("PRAGMA page_size") == [(size,)]
                assert len(list(journal.events(project))) == count


def test_a_second_writer_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        project = journal.create("p", {})
        with pytest.raises(JournalError, match="another process is writing"):
            Journal(path)
        with Journal(path, read_only=True) as reader:
            journal.append(project, [remark({})])
            assert len(list(reader.events(project))) == 1
    Journal(path).close()


def test_a_full_disk_loses_nothing_and_damages_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        project = journal.create("p", {})
        journal.append(project, [remark({"text": "kept"})])
        ((pages,),) = journal.rows("PRAGMA page_count")
        journal.rows(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match="disk is full") as caught:
            journal.append(project, [remark({"text": "x" * 100_000})])
        assert caught.value.full
        journal.rows("PRAGMA max_page_count = 1000000")
        journal.append(project, [remark({"text": "later"})])
        assert [event.body["text"] for event in journal.events(project)] == ["kept", "later"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 100), "not a database"),
        (
            lambda path: sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.close(),
            "not a state file",
        ),
        (lambda path: path.mkdir(), "unable to open"),
    ],
)
def test_what_is_no_journal_is_refused(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "state.db"
    make(path)  # type: ignore[operator]
    with pytest.raises(JournalError, match=message):
        Journal(path)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, "state format 99 is newer than this Tailcut's 4"),
        (2, "state format 2 is from before the first release and is not read any more"),
        (1, "state format 1 is from before the first release and is not read any more"),
    ],
)
def test_another_format_is_refused_and_not_touched(
    tmp_path: Path, version: int, message: str, read_only: bool
) -> None:
    path = tmp_path / "state.db"
    Journal(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=message):
        Journal(path, read_only=read_only)
    with pytest.raises(JournalError, match=message):
        Tokens(path)
    assert path.read_bytes() == before


def test_an_unknown_kind_of_event_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = journal.create("p", {})
        journal.append(project, [remark({})])
        journal.rows("UPDATE events SET kind = 'dance'")
        with pytest.raises(JournalError, match="event 1: 'dance' is not known to this Tailcut"):
            list(journal.events(project))


def test_a_missing_file_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such state file"):
        Journal(tmp_path / "state.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
