"""Damaged projects: each is named with event and field, and repairing keeps all that is intact."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import JournalError, TailcutError
from tailcut.journal import EventKind, Journal, Project, upkeep
from tailcut.journal.upkeep import repair_file
from tailcut.types import Outcome
from tests.journal.state_files import filled, tailcut


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("repair") / "state.db")


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "state.db"))


def change(path: Path, statement: str, *values: Any) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


def damage(path: Path, number: int, **fields: Any) -> None:
    """Change fields of an event's body; ... removes one."""
    with sqlite3.connect(path) as db:
        ((text,),) = db.execute("SELECT body FROM events WHERE number = ?", (number,)).fetchall()
        body = {**json.loads(text), **fields}
        kept = {name: value for name, value in body.items() if value is not ...}
        db.execute("UPDATE events SET body = ? WHERE number = ?", (json.dumps(kept), number))
    db.close()


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"decision": ...}, "decision", "event 5: decision is missing"),
        ({"features": 7}, "features", "event 5: features is 7"),
        ({"features": ["x", 1.0]}, "features", "event 5"),
        ({"spent": None}, "spent", "event 5: spent is None"),
        ({"cutoff": -1.0}, "cutoff", "event 5: cutoff must be"),
    ],
)
def test_verify_names_project_event_and_field(file: Path, fields: Any, field: str, words: str) -> None:
    damage(file, 5, **fields)
    with Journal(file, read_only=True) as journal:
        one, two = upkeep.verify(journal)
    assert (one.project, one.event, one.field) == ("one", 5, field)
    assert words in str(one.problem)
    assert (two.events, two.problem) == (60, None)


def test_repair_keeps_what_is_whole_and_says_what_it_drops(file: Path) -> None:
    damage(file, 11, decision=...)  # the sixth decision: its outcome cannot be learned either
    before = tailcut("state", "verify", file)
    assert before.returncode == 1
    assert "one: event 11: decision is missing" in before.stdout
    result = tailcut("state", "repair", file)
    assert result.returncode == 0, result.stderr
    assert "one: 58 events kept, 2 dropped:" in result.stdout
    assert "event 11: decision is missing" in result.stdout
    assert "event 12 (observe): decision 5 does not wait" in result.stdout
    assert "two: 60 events, all whole" in result.stdout
    assert tailcut("state", "verify", file).returncode == 0
    with Journal(file) as journal:
        one = Project(journal, "one")
        assert one.selector.decisions == 30  # the lost number is not given again
        assert one.statistics.outcomes == 28
        assert one.observe(7, Outcome.solved(3.0))
        assert one.select([1.0, 2.0]).id == 30
        assert one.verify() == 2
    assert all(not one.dropped for one in repair_file(file))


def test_repair_of_what_two_processes_wrote(file: Path) -> None:
    """The second of two decisions with the same number goes, and with it what nobody can tell apart."""
    with Journal(file, repairing=True) as journal:
        project = Project(journal, "one")
        project.select([1.0, 1.0])
        last = journal.last(project.number)
    with sqlite3.connect(file) as db:
        db.execute("DROP INDEX events_by_decision")
        copied = "project, at, kind, body, NULL, decision FROM events WHERE number = ?"
        db.execute(f"INSERT INTO events (project, at, kind, body, key, decision) SELECT {copied}", (last,))
    db.close()
    with pytest.raises(JournalError, match="tailcut state repair"):
        Journal(file)
    assert tailcut("state", "compact", file).returncode == 2
    one, two = repair_file(file)
    assert one.dropped == [f"event {last + 1} (select): decision 30 was made a second time"]
    assert not two.dropped
    with Journal(file) as journal:
        project = Project(journal, "one")
        assert project.observe(30, runtime=1.0)
        assert project.select([1.0, 1.0]).id == 31
    with Journal(file) as journal:  # all of it is there after a restart
        project = Project(journal, "one")
        assert project.verify() == 2
        assert project.select([1.0, 1.0]).id == 32


def test_a_damaged_snapshot_is_made_again_from_the_events(file: Path) -> None:
    with Journal(file) as journal:
        project = Project(journal, "one")
        before = project.selector.to_bytes()
        journal.keep_snapshot(project.number, project.snapshot())
    change(file, "UPDATE pieces SET content = zeroblob(100)")
    with Journal(file, read_only=True) as journal:
        found = next(upkeep.verify(journal))
    assert (found.field, found.problem) == ("snapshot", "its snapshot is damaged")
    assert "snapshot" in repair_file(file)[0].dropped[0]
    with Journal(file) as journal:
        assert Project(journal, "one").selector.to_bytes() == before


def test_what_cannot_be_repaired_is_left_as_it_is(file: Path) -> None:
    change(file, "UPDATE projects SET description = '{' WHERE name = 'one'")
    result = tailcut("state", "repair", file)
    assert result.returncode == 1
    assert "one: cannot be repaired: its description is not JSON" in result.stdout
    assert "two: 60 events, all whole" in result.stdout


VALUES: list[Any] = [None, -1, 0, 1e300, 2**62, "", "x", "NaN", [], {}, [[]], True, "\x00", -0.0, 10**30]


def mutated(chance: random.Random, value: Any) -> Any:
    """Return a JSON value with one thing in it changed, dropped or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        if chance.random() < 0.2:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: mutated(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], mutated(chance, value[place]), *value[place + 1 :]]
    return chance.choice(VALUES)


def mutate(chance: random.Random, path: Path) -> None:
    """Damage a file in one of the ways that people, disks and bugs have."""
    if chance.random() < 0.4:
        content = bytearray(path.read_bytes())
        for _ in range(chance.choice([1, 1, 8, 64])):
            content[chance.randrange(100, len(content))] = chance.randrange(256)
        if chance.random() < 0.1:
            del content[chance.randrange(len(content)) :]
        path.write_bytes(content)
        return
    with sqlite3.connect(path) as db:
        what = chance.choice(["events", "events", "events", "projects", "column"])
        number = chance.randrange(1, 121)
        if what == "events":
            ((text,),) = db.execute("SELECT body FROM events WHERE number = ?", (number,)).fetchall()
            body = json.dumps(mutated(chance, json.loads(text)))
            db.execute("UPDATE events SET body = ? WHERE number = ?", (body, number))
        elif what == "projects":
            ((text,),) = db.execute("SELECT description FROM projects WHERE name = 'one'").fetchall()
            body = json.dumps(mutated(chance, json.loads(text)))
            db.execute("UPDATE projects SET description = ? WHERE name = 'one'", (body,))
        else:
            column = chance.choice(["at", "kind", "body", "key", "decision"])
            value = chance.choice([-1, 7, "x", b"\xff\x00", "{}", "[]", 1e300, "[" * 100_000])
            db.execute("DROP INDEX IF EXISTS events_by_decision")
            db.execute(f"UPDATE OR IGNORE events SET {column} = ? WHERE number = ?", (value, number))
    db.close()


def look_at(path: Path) -> None:
    """Do with a file all that may be done; only errors of our own may come of it."""
    for work in (verified, exported, continued, lambda file: repair_file(file), continued):
        with contextlib.suppress(TailcutError):
            work(path)


def verified(path: Path) -> None:
    with Journal(path, read_only=True) as journal:
        list(upkeep.verify(journal))


def exported(path: Path) -> None:
    with Journal(path, read_only=True) as journal:
        for line in upkeep.export(journal):
            json.dumps(line)


def continued(path: Path) -> None:
    with Journal(path) as journal:
        for name in journal.projects():
            Project(journal, name).select([1.0, 2.0])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_random_damage_gives_a_clear_error(original: Path, tmp_path: Path) -> None:
    chance = random.Random(15)
    for number in range(320):
        path = tmp_path / f"{number}.db"
        shutil.copy(original, path)
        mutate(chance, path)
        look_at(path)
        path.unlink()


def test_repair_after_all_kinds_of_events(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Journal(path) as journal:
        project = Project.create(
            journal, "s", {"selector": "round_robin", "algorithms": ["a", "b"], "cutoff": 60.0}
        )
        for _ in range(3):
            decision = project.select()
            project.observe(decision, censored_at=decision.budget)
            following = project.proceed(decision)
            assert following is not None
            project.observe(following, runtime=1.0)
        project.add_algorithm("c")
        project.remove_algorithm("a")
        project.remark({"text": "stays"})
    damage(path, 3, after="x")
    (one,) = repair_file(path)
    assert one.problem is None
    assert one.dropped[0].startswith("event 3: after is 'x'")
    with Journal(path) as journal:
        project = Project(journal, "s")
        assert set(project.selector.algorithms) == {"b", "c"}
        assert [event.kind for event in project.history()][-1] is EventKind.REMARK
        assert project.select().id >= 5
        assert project.verify() == 1
