"""A disk that is full, a file that cannot be written: clear answers, no damage, and life goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.errors import JournalError
from tailcut.journal import EventKind, Journal, NewEvent, Project
from tailcut.journal.database import PAGE
from tailcut.service.http_server import first_token
from tests.service.running import Running


def select(running: Running, key: str, size: int = 1) -> int:
    body = {"features": [1.0], "instance": "x" * size, "key": key}
    return running.call("POST", "/v1/projects/p/select", body).status


def sound(path: Path, keys: list[str]) -> None:
    """Check a file after its server has gone: every key acknowledged is there once, and it repeats."""
    with Journal(path) as journal:
        assert journal.rows("PRAGMA integrity_check") == [("ok",)]
        project = Project(journal, "p")
        found = [event.key for event in project.history() if event.kind is EventKind.SELECT]
        assert found == keys
        assert project.verify() == len(list(project.history()))


def test_a_full_database_is_507_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        assert select(running, "k0") == 200
        journal = running.context.writer.journal
        ((pages,),) = journal.rows("PRAGMA page_count")
        journal.rows(f"PRAGMA max_page_count = {pages + 4}")
        statuses = [select(running, f"k{number}", 900) for number in range(1, 60)]
        assert set(statuses) == {200, 507}
        kept = [f"k{number}" for number, status in enumerate([200, *statuses]) if status == 200]
        answer = running.call("POST", "/v1/projects/p/select", {"features": [1.0], "instance": "x" * 1000})
        assert (answer.status, "disk is full" in answer.json["message"]) == (507, True)
        assert str(tmp_path) not in answer.body.decode()
        assert running.call("GET", "/v1/projects/p/statistics").json["decisions"] == len(kept)
        assert running.call("GET", "/v1/health").status == 200
        journal.rows("PRAGMA max_page_count = 1000000")
        assert select(running, "later") == 200
    sound(tmp_path / "state.db", [*kept, "later"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    where = tmp_path / "small"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path, tmp_path: Path) -> None:
    with Running(small_disk / "state.db") as running:
        running.create("p")
        filler = small_disk / "filler"
        room = shutil.disk_usage(small_disk).free
        filler.write_bytes(b"x" * (room - 15 * PAGE))
        statuses = [select(running, f"k{number}", 900) for number in range(80)]
        assert set(statuses) == {200, 507}
        filler.unlink()
        assert select(running, "later") == 200
        kept = [f"k{number}" for number, status in enumerate(statuses) if status == 200]
    shutil.copy(small_disk / "state.db", tmp_path / "copy.db")
    sound(tmp_path / "copy.db", [*kept, "later"])


def test_a_file_system_that_is_read_only_is_told_at_the_start(small_disk: Path) -> None:
    first_token(small_disk / "state.db")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(JournalError, match="cannot be written: Read-only file system"):
        first_token(small_disk / "state.db")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with Journal(small_disk / "state.db") as journal:
        assert journal.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_is_locked_or_read_only_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailcut.journal.database.BUSY_SECONDS", 0.1)
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        assert select(running, "k0") == 200
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = running.call("POST", "/v1/projects/p/select", {"features": [1.0], "key": "k1"})
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "nothing was changed" in answer.json["message"]
        other.execute("ROLLBACK")
        other.close()
        assert select(running, "k1") == 200
        journal = running.context.writer.journal
        journal.rows("PRAGMA query_only = ON")  # what SQLite says of a file system that became read-only
        assert select(running, "k2") == 503
        assert (
            running.call("POST", "/v1/projects", {"name": "q", "algorithms": ["a"], "cutoff": 1}).status
            == 503
        )
        assert running.call("GET", "/v1/projects/q").status == 404
        assert running.call("GET", "/v1/projects/p/history").status == 200
        journal.rows("PRAGMA query_only = OFF")
        assert select(running, "k2") == 200
    sound(tmp_path / "state.db", ["k0", "k1", "k2"])


def test_a_group_that_is_lost_tells_everyone(tmp_path: Path) -> None:
    """Requests that share a transaction fail together, but for those that were wrong by themselves."""
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        assert select(running, "k0") == 200
        writer = running.context.writer
        gate = threading.Event()
        blocker = threading.Thread(target=lambda: writer_waits(running, gate))
        blocker.start()
        writer.journal.rows("PRAGMA query_only = ON")
        statuses: list[int] = []
        bodies = [{"features": [1.0]}, {"features": [1.0, 2.0]}, {"features": [2.0]}]
        threads = [
            threading.Thread(
                target=lambda body=body: statuses.append(
                    running.call("POST", "/v1/projects/p/select", body).status
                )
            )
            for body in bodies
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while writer.queues.waiting(slow=False) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        gate.set()
        for thread in [*threads, blocker]:
            thread.join()
        writer.journal.rows("PRAGMA query_only = OFF")
        assert sorted(statuses) == [422, 503, 503]
        assert select(running, "k1") == 200
    sound(tmp_path / "state.db", ["k0", "k1"])


def writer_waits(running: Running, gate: threading.Event) -> None:
    """Keep the writer busy until the gate opens, so that requests gather behind it."""
    import asyncio

    job = running.context.writer.with_journal(gate.wait)
    asyncio.run_coroutine_threadsafe(job, running.loop).result()


def test_a_restart_finds_everything_and_has_little_to_repeat(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        assert [select(running, f"k{number}") for number in range(20)] == [200] * 20
        before = running.context.writer.projects["p"].selector.to_bytes()
    with Journal(tmp_path / "state.db", read_only=True) as journal:
        project = journal.projects()["p"]
        snapshot = journal.snapshot(project)
        assert snapshot is not None
        assert snapshot.event == journal.last(project)  # an orderly end leaves nothing to repeat
    with Running(tmp_path / "state.db") as running:
        assert running.context.writer.projects["p"].selector.to_bytes() == before
        assert select(running, "k3") == 200
    sound(tmp_path / "state.db", [f"k{number}" for number in range(20)])


def test_a_project_that_cannot_be_opened_does_not_hinder_the_others(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db") as running:
        running.create("p")
        running.create("q")
    with Journal(tmp_path / "state.db") as journal:
        journal.append(journal.projects()["p"], [NewEvent(EventKind.REMARK, {})])
        journal.rows("UPDATE events SET kind = 'nonsense'")
    with Running(tmp_path / "state.db") as running:
        assert running.call("POST", "/v1/projects/p/select", {"features": [1.0]}).status == 503
        assert running.call("POST", "/v1/projects/q/select", {"features": [1.0]}).status == 200
        again = {"name": "p", "algorithms": ["a"], "cutoff": 1.0}
        assert running.call("POST", "/v1/projects", again).status == 503
