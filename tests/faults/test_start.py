"""Starting on a sick machine: one clear line and code 2, no traceback, nothing lost."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from tests.faults.shim import Shim
from tests.live.commands import answers, tailcut
from tests.live.toy import log, write_instances, write_portfolio
from tests.service.running import ServerProcess


def limited(folder: Path, files: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailcut", "run", "portfolio.toml", "instances", "--cutoff", "20"],
        cwd=folder,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        check=False,
    )


def test_run_with_few_open_files_says_so(tmp_path: Path) -> None:
    write_portfolio(tmp_path, features=False)
    write_instances(tmp_path, {f"i{number}": "a 0.01 yes\nb 0.01 yes\n" for number in range(3)})
    for files in (10, 20):
        ended = limited(tmp_path, files)
        assert ended.returncode == 2, ended.stderr
        assert len(ended.stderr.splitlines()) == 1, ended.stderr
        assert f"too many open files: {files} are allowed" in ended.stderr
        assert "ulimit -n" in ended.stderr
    assert limited(tmp_path, 56).returncode == 0  # what is said to be enough
    tailcut(tmp_path, "run", "portfolio.toml", "instances", "--cutoff", "20")
    assert len(answers(tmp_path)) == 3


def test_serve_on_a_disk_that_fails_says_so(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    shim = Shim(tmp_path, state)
    for number, calls, exists in ((1, "s", False), (1, "w", True), (1, "s", True), (2, "s", True)):
        if exists and not state.exists():
            with ServerProcess(state) as server:
                server.end()
        shim.fail(number, "forever", calls)
        ended = subprocess.run(
            [sys.executable, "-m", "tailcut", "serve", "--state", str(state), "--port", "0"],
            env=shim.in_environment(),
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 2, ended.stderr
        assert len(ended.stderr.splitlines()) == 1, ended.stderr
        assert str(state) in ended.stderr
        if not exists:
            state.unlink()


def test_an_answers_file_with_zeroed_bytes_is_made_again(tmp_path: Path) -> None:
    write_portfolio(tmp_path, features=False)
    write_instances(tmp_path, {f"i{number}": "a 0.01 yes\nb 0.01 yes\n" for number in range(4)})
    command = ("run", "portfolio.toml", "instances", "--cutoff", "20")
    tailcut(tmp_path, *command)
    file, before = tmp_path / "tailcut-run.jsonl", answers(tmp_path)
    whole, started = file.read_bytes(), len(log(tmp_path))
    for begin, end in ((0, 40), (len(whole) // 2, len(whole)), (0, len(whole))):
        file.write_bytes(whole[:begin] + bytes(end - begin) + whole[end:])
        ended = tailcut(tmp_path, *command)
        assert answers(tmp_path) == before
        assert "tailcut-run.jsonl" in ended.stderr  # that it was damaged
    assert len(log(tmp_path)) == started  # no solver had to run


def test_an_answers_file_of_something_else_is_refused(tmp_path: Path) -> None:
    write_portfolio(tmp_path, features=False)
    write_instances(tmp_path, {"i": "a 0.01 yes\n"})
    foreign = tmp_path / "mine.jsonl"
    foreign.write_text(json.dumps({"name": "not an answer"}) + "\n")
    ended = tailcut(
        tmp_path, "run", "portfolio.toml", "instances", "--cutoff", "20", "--answers", str(foreign), code=2
    )
    assert "line 1: is not an answer of `tailcut run`" in ended.stderr
    assert json.loads(foreign.read_text()) == {"name": "not an answer"}
