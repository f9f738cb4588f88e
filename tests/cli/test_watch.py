"""`tailcut watch` beside a real `tailcut run` in another process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tailcut.journal import Journal, Project
from tailcut.live.monitor import FollowedRun, is_written
from tests.live.commands import TAILCUT, answers, tailcut, wait_for
from tests.live.toy import write_instances, write_portfolio

COUNT = 12


def begin_run(folder: Path) -> subprocess.Popen[str]:
    """Begin a real run and wait until its state file has something to see."""
    portfolio = write_portfolio(folder, ("a", "b"))
    texts = {f"i{n:02}": f"a {0.1 + 0.05 * (n % 3)} yes\nb 0.2 no\n" for n in range(COUNT)}
    instances = write_instances(folder, texts)
    command = [*TAILCUT, "run", str(portfolio), str(instances), "--cutoff", "5"]
    process = subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def begun() -> bool:
        assert process.poll() is None
        return bool(is_written(folder / "tailcut-run.db"))

    wait_for(begun)
    return process


def test_a_run_is_shown_while_it_goes_on_and_is_not_disturbed(tmp_path: Path) -> None:
    run = begin_run(tmp_path)
    watching = subprocess.Popen(
        [*TAILCUT, "watch", "tailcut-run.db", "--json", "--every", "0.1"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = watching.communicate(timeout=120)  # it ends with the run
    assert run.wait(60) == 0
    assert watching.returncode == 0, errors
    looks = [json.loads(line) for line in output.splitlines()]
    assert looks[0]["written"] is True
    assert looks[-1]["written"] is False
    assert len({look["over"] for look in looks}) > 2  # it was seen to grow
    assert [look["last_event"] for look in looks] == sorted(look["last_event"] for look in looks)
    assert any(look["running"] for look in looks)
    assert (looks[-1]["over"], looks[-1]["solved"], looks[-1]["running"]) == (COUNT, COUNT, [])
    assert sum(one["runs"] for one in looks[-1]["solvers"]) == COUNT
    assert len(answers(tmp_path)) == COUNT
    with Journal(tmp_path / "tailcut-run.db") as journal:
        Project(journal, "run").verify()


def test_the_dashboardless_view_ends_at_once_where_nobody_writes(tmp_path: Path) -> None:
    with Journal(tmp_path / "s.db") as journal:
        settings = {"selector": "thompson", "algorithms": ["a", "b"], "cutoff": 60.0}
        project = Project.create(journal, "run", settings)
        project.observe(project.select([1.0], instance="i"), runtime=2.0)
        project.select([1.0], instance="j")
        assert is_written(tmp_path / "s.db")
        followed = FollowedRun(tmp_path / "s.db")
        now = followed.look()
        assert (now["over"], now["solved"], now["par10"]) == (1, 1, 2.0)
        assert [one["instance"] for one in now["running"]] == ["j"]
        project.observe(1, censored_at=60.0)  # the reader keeps nobody from writing
        assert followed.look()["over"] == 2
        followed.close()
    assert not is_written(tmp_path / "s.db")
    ended = tailcut(tmp_path, "watch", "s.db")
    assert "1 of 2 solved, PAR10 301 s; no process writes to it" in ended.stdout


def test_what_cannot_be_watched_is_an_error(tmp_path: Path) -> None:
    assert "there is no such state file" in tailcut(tmp_path, "watch", "none.db", code=2).stderr
    with Journal(tmp_path / "s.db"):
        pass
    assert "no project 'run' to watch" in tailcut(tmp_path, "watch", "s.db", code=2).stderr
