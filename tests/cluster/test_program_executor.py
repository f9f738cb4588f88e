"""Solver runs on Dask: limits kept there, every instance counted once, nothing left behind."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tailcut.cluster.program_executor import DaskProgramExecutor, Parcel, packed, unpacked
from tailcut.errors import InputError, WorkerDiedError
from tailcut.journal import Journal, Project
from tailcut.live.engine import ProgramJob
from tailcut.live.instance_record import PROJECT, instance_records
from tailcut.live.limits import Command, Ended, Ending, ResourceLimits
from tests.cli.test_run import TAILCUT, answers, still_running
from tests.cluster.farm import Farm, wait_for
from tests.live import toy


def _write(folder: Path, count: int, seconds: tuple[float, float]) -> list[str]:
    toy.write_portfolio(folder, ("a", "b"), top='clock = "wall"\ncutoff = 60')
    chance = random.Random(3)
    names = [f"i{n:02}" for n in range(count)]
    lines = {name: chance.uniform(*seconds) for name in names}
    toy.write_instances(folder, {name: f"a {time} yes\nb {time} yes" for name, time in lines.items()})
    return names


def _check(folder: Path, names: list[str]) -> None:
    """Every instance was chosen for, observed and answered exactly once, and the journal holds together."""
    found = answers(folder)
    assert sorted(found) == names
    assert {record["answer"] for record in found.values()} == {"yes"}
    with Journal(folder / "tailcut-run.db", read_only=True) as journal:
        project = Project(journal, PROJECT)
        project.verify()
        events = list(project.history())
        assert not project.selector.pending
        assert all(record.over for record in instance_records(project).values())
    chosen = Counter(event.body["instance"] for event in events if event.kind == "select")
    observed = Counter(event.body["decision"] for event in events if event.kind == "observe")
    assert set(chosen.values()) == set(observed.values()) == {1}
    assert len(chosen) == len(observed) == len(names)


def ended(runs: DaskProgramExecutor, *jobs: ProgramJob) -> list[Ended]:
    async def together() -> list[Ended]:
        started = [runs.start(job) for job in jobs]
        async with asyncio.timeout(120):
            return [await run.wait() for run in started]

    return asyncio.run(together())


@pytest.mark.slow
def test_a_killed_worker_a_killed_client_and_ctrl_c(tmp_path: Path, farm: Farm) -> None:
    names = _write(tmp_path, 30, (0.05, 0.2))
    dask = ("--executor", "dask", "--scheduler", farm.address)
    command = [*TAILCUT, "run", "portfolio.toml", "instances", *dask]

    def over() -> int:
        return sum(word == "answer" for word, *_ in toy.log(tmp_path))

    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: over() > 3 or process.poll() is not None, "answers")
        farm.workers[0].send_signal(signal.SIGKILL)
        killed_at = over()
        wait_for(lambda: over() > killed_at + 5 or process.poll() is not None, "answers after the kill")
        process.kill()
    assert over() < len(names)
    wait_for(lambda: still_running(tmp_path) == [], "a killed client's runs to end")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        before = len(toy.log(tmp_path))
        wait_for(lambda: len(toy.log(tmp_path)) > before + 4 or process.poll() is not None, "more answers")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130, said
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert still_running(tmp_path) == []
    farm.restore()
    with subprocess.Popen([*command, "--ship-instances", "--jobs", "5"], cwd=tmp_path) as process:
        before = len(toy.log(tmp_path))
        wait_for(lambda: len(toy.log(tmp_path)) > before + 4 or process.poll() is not None, "more runs")
        farm.workers[1].send_signal(signal.SIGKILL)
        assert process.wait(120) == 0
    _check(tmp_path, names)
    assert still_running(tmp_path) == []
    wait_for(lambda: farm.tasks() == [], "the scheduler to be rid of all tasks")


def test_limits_are_kept_on_the_workers_and_files_go_along(tmp_path: Path, farm: Farm) -> None:
    instance, made = tmp_path / "i1.cnf", tmp_path / "answer.out"
    instance.write_text("p cnf 0 0\n")
    made.write_text("s SATISFIABLE\n")
    spinning = ProgramJob(Command(("sh", "-c", "while :; do :; done")), ResourceLimits(cpu=0.1, wall=60))
    show = ("sh", "-c", "echo $1; cat $1 $2", "sh", str(instance), str(made))
    reading = ProgramJob(Command(show), ResourceLimits(wall=60), instance=instance, made=made)
    loud = ProgramJob(
        Command(("sh", "-c", "yes | head -c 100000")), ResourceLimits(wall=60), keep_output=1000
    )
    with farm.client() as client:
        for ship in (False, True):
            with DaskProgramExecutor(client, ship=ship) as runs:
                stopped, read, truncated = ended(runs, spinning, reading, loud)
            assert stopped.ending is Ending.CPU_LIMIT
            assert stopped.cpu >= 0.1
            path, *lines = read.output.decode().splitlines()
            assert lines == ["p cnf 0 0", "s SATISFIABLE"]
            assert (path == str(instance)) is not ship
            assert Path(path).name == "i1.cnf"
            assert path == str(instance) or not Path(path).exists()
            assert truncated.output_truncated
            assert len(truncated.output) == 1000
            assert runs.method.endswith("on Dask workers")


def test_a_worker_that_lacks_something_is_named_and_nothing_is_learned(tmp_path: Path, farm: Farm) -> None:
    job = ProgramJob(Command(("no-such-solver", "x")), ResourceLimits(wall=5))
    with (
        farm.client() as client,
        DaskProgramExecutor(client) as runs,
        pytest.raises(InputError, match=r"Dask worker tcp://.*: there is no program no-such-solver"),
    ):
        ended(runs, job)
    with (
        farm.client() as client,
        DaskProgramExecutor(client, preload=("no_such_module",)) as runs,
        pytest.raises(InputError, match="no_such_module"),
    ):
        ended(runs, ProgramJob(Command(("true",)), ResourceLimits(wall=5)))


def test_programs_get_the_environment_of_the_worker(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY_HERE", "yes")
    show = Command(("sh", "-c", "echo ${ONLY_HERE-no} $OMP_NUM_THREADS $MINE"), environment={"MINE": "2"})
    with farm.client() as client, DaskProgramExecutor(client) as runs:
        (shown,) = ended(runs, ProgramJob(show, ResourceLimits(wall=60)))
        assert shown.output == b"no 1 2\n"


def test_a_solver_that_kills_what_watches_it_has_crashed_on_its_worker(tmp_path: Path, farm: Farm) -> None:
    """That is the solver's failure, not a lost run: it is not made again elsewhere."""
    log = tmp_path / "log"
    deadly = Command(("sh", "-c", f"echo run >> {log}; kill -9 $PPID; sleep 60"))
    with farm.client() as client, DaskProgramExecutor(client) as runs:
        (crashed,) = ended(runs, ProgramJob(deadly, ResourceLimits(wall=60)))
        assert (crashed.ending, crashed.tampered) == (Ending.CRASHED, True)
    assert log.read_text() == "run\n"


def test_a_run_that_is_always_lost_is_given_up_and_named(farm: Farm) -> None:
    """The runner is taken away from the workers, so that none returns an outcome."""
    with farm.client() as client, DaskProgramExecutor(client) as runs:
        client.unregister_worker_plugin(runs._plugin.name)
        with pytest.raises(WorkerDiedError, match=r"lost 4 times: .*sleep"):
            ended(runs, ProgramJob(Command(("sleep", "60")), ResourceLimits(wall=60)))


def test_files_that_a_worker_does_not_see_are_named(tmp_path: Path) -> None:
    instance = tmp_path / "i1.cnf"
    instance.write_text("p cnf 0 0\n")
    parcel = packed(
        ProgramJob(Command(("cat", str(instance))), ResourceLimits(), instance=instance), ship=False
    )
    instance.write_text("p cnf 10 10\n")
    with pytest.raises(InputError, match="is another file there"), unpacked(parcel, tmp_path):
        pass
    instance.unlink()
    with pytest.raises(InputError, match="give --ship-instances"), unpacked(parcel, tmp_path):
        pass
    elsewhere = ProgramJob(Command(("cat", "x"), folder=tmp_path / "nowhere"), ResourceLimits())
    with pytest.raises(InputError, match="there is no folder"), unpacked(Parcel(elsewhere, {}), tmp_path):
        pass
    with pytest.raises(InputError, match=r"i1\.cnf: cannot be read"):
        packed(ProgramJob(Command(("cat", "x")), ResourceLimits(), instance=instance), ship=True)


def test_measuring_on_dask_gives_a_scenario(tmp_path: Path, farm: Farm) -> None:
    _write(tmp_path, 3, (0.01, 0.05))
    command = [*TAILCUT, "measure", "portfolio.toml", "instances", "--out", "TOY", "--executor", "dask"]
    measured = subprocess.run(
        [*command, "--scheduler", farm.address], cwd=tmp_path, text=True, capture_output=True
    )
    assert measured.returncode == 0, measured.stderr
    assert "6 runs; 3 of 3 instances were solved" in measured.stdout
    assert "on Dask workers" in (tmp_path / "TOY" / "readme.txt").read_text()


def test_programs_are_looked_for_on_every_worker_before_anything_runs(farm: Farm) -> None:
    programs = {"solvers.a": Command(("true",)), "solvers.b": Command(("no-such-solver", "{instance}"))}
    with farm.client() as client, DaskProgramExecutor(client) as runs:
        problems = runs.problems(programs)
    assert len(problems) == farm.size
    for problem in problems:
        assert problem.startswith("Dask worker tcp://")
        assert problem.endswith(": solvers.b: there is no program no-such-solver")
