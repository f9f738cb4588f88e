"""``tailcut state``: what it finds, what it keeps, when it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.journal import EventKind, Journal, Project, upkeep
from tailcut.types import Outcome
from tests.journal.state_files import filled, tailcut


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return filled(tmp_path / "state.db")


def test_verify_says_where_it_differs(file: Path) -> None:
    good = tailcut("state", "verify", file, "--json")
    assert good.returncode == 0
    assert [one["events"] for one in json.loads(good.stdout)] == [60, 60]
    with Journal(file) as journal:
        journal.rows(
            "UPDATE events SET body = replace(body, '\"budget\": 60.0', '\"budget\": 59.0') WHERE number = 5"
        )
    bad = tailcut("state", "verify", file)
    assert bad.returncode == 1
    assert "one: event 5: the decision was" in bad.stdout
    assert "two: 60 events replayed, no difference" in bad.stdout


def test_export_writes_every_event(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "export.jsonl"
    assert tailcut("state", "export", file, "--out", out).returncode == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines[0] == {"tailcut_state": 4}
    with Journal(file, read_only=True) as journal:
        for name, number in journal.projects().items():
            exported = [line for line in lines if line.get("project") == name]
            assert exported[0]["description"]["selector"] == "thompson_rev"
            assert [line["body"] for line in exported[1:]] == [event.body for event in journal.events(number)]
    again = tailcut("state", "export", file, "--out", out)
    assert again.returncode == 2
    assert "the file already exists" in again.stderr
    printed = tailcut("state", "export", file, "--project", "two")
    assert {json.loads(line).get("project", "two") for line in printed.stdout.splitlines()} == {"two"}


def test_compacting_keeps_the_selector_the_answers_and_who_waits(file: Path) -> None:
    with Journal(file) as journal:
        one = Project(journal, "one")
        before, counted, answer = (
            one.selector.to_bytes(),
            one.statistics.state(),
            one.select([5.0, 2.0], key="k5"),
        )
    size = file.stat().st_size
    result = tailcut("state", "compact", file, "--project", "one", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["projects"] == [{"project": "one", "dropped": 44, "kept": 16}]
    assert told["bytes_before"] == size
    with Journal(file) as journal:
        one = Project(journal, "one")
        assert one.selector.to_bytes() == before
        assert one.statistics.state() == counted
        assert one.select([5.0, 2.0], key="k5") == answer
        assert one.explain(7).decision == 7  # it waits, and so can be explained
        assert one.observe(7, Outcome.solved(3.0))
        assert [event.body["text"] for event in one.history() if event.kind is EventKind.REMARK] == ["stays"]
        assert one.verify() == 1
    verified = tailcut("state", "verify", file, "--json")
    assert verified.returncode == 0, verified.stdout


def test_while_a_server_writes_reading_is_fine_and_compacting_is_not(file: Path) -> None:
    with Journal(file):
        assert tailcut("state", "verify", file).returncode == 0
        assert tailcut("state", "export", file).returncode == 0
        refused = tailcut("state", "compact", file)
    assert refused.returncode == 2
    assert "another process is writing" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["verify", "export", "compact"])
def test_a_missing_file_or_project_is_told(command: str, file: Path, tmp_path: Path) -> None:
    result = tailcut("state", command, tmp_path / "none.db")
    assert (result.returncode, "no such state file" in result.stderr) == (2, True)
    result = tailcut("state", command, file, "--project", "three")
    assert (result.returncode, "no project 'three'; known: one, two" in result.stderr) == (2, True)


@pytest.fixture
def read_only(file: Path, tmp_path: Path) -> Iterator[Path]:
    """A file system that cannot be written, with a state file whose server was killed."""
    where = tmp_path / "fixed"
    where.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", where], check=False).returncode:
        pytest.skip("a file system can only be mounted by root")
    shutil.copy(file, where / "closed.db")
    with Journal(file) as journal:
        Project(journal, "one").remark({"text": "only in the log"})
        for part in ("", "-wal"):
            shutil.copy(f"{file}{part}", f"{where}/killed.db{part}")
    subprocess.run(["mount", "-o", "remount,ro", where], check=True)
    yield where
    subprocess.run(["umount", "-l", where], check=True)


@pytest.mark.parametrize(("name", "events"), [("closed.db", 60), ("killed.db", 61)])
def test_reading_works_where_nothing_can_be_written(read_only: Path, name: str, events: int) -> None:
    verified = tailcut("state", "verify", read_only / name, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert json.loads(verified.stdout)[0]["events"] == events
    exported = tailcut("state", "export", read_only / name, "--project", "one")
    assert len(exported.stdout.splitlines()) == events + 2
    assert tailcut("token", "list", read_only / name).returncode == 0
    refused = tailcut("state", "compact", read_only / name)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_an_interrupted_export_leaves_nothing_that_blocks_the_next(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "export.jsonl"

    def interrupted() -> Iterator[dict[str, int]]:
        yield {"tailcut_state": 4}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upkeep.write_lines(interrupted(), out)
    assert not list(tmp_path.glob("export*"))
    killed = f"{out.name}.999999.partial"  # what kill -9 leaves
    (tmp_path / killed).write_text("{")
    assert tailcut("state", "export", file, "--out", out).returncode == 0
