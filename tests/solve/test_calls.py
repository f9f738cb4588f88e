"""`tailcut solve` as a solver that another tool calls: what comes out, and what is learned."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import toy
from tests.live.commands import wait_for
from tests.solve.calls import Learned, begin, daemons, end_daemons, processes, solve

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a portfolio of toys; what is started there is ended."""
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 20")
    yield tmp_path
    end_daemons(tmp_path)


CALL = ("--portfolio", "portfolio.toml", "--state", "s.db")


def test_the_answering_solvers_output_and_nothing_else(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes"})
    ended = solve(folder, *CALL, "--report", "r.json", "instances/one.toy")
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"answer yes\n", b"", 0)
    report = json.loads((folder / "r.json").read_text())
    assert report["answer"] == "yes"
    assert report["cpu"] >= report["runs"][-1]["cpu"] > 0.0
    assert solve(folder, *CALL, "instances/one.toy").stdout == b"answer yes\n"
    end_daemons(folder)
    learned = Learned(folder / "s.db")
    assert learned.statuses.count("solved") == 2
    assert learned.pending == 0


def test_without_an_answer_the_exit_code_says_so(folder: Path) -> None:
    toy.write_instances(folder, {"hard": "a 60 yes"})
    ended = solve(folder, *CALL, "--cutoff", "0.5", "instances/hard.toy")
    assert (ended.stdout, ended.returncode) == (b"", 1)
    assert ended.stderr == b"tailcut: not solved within 0.5 s\n"


def test_a_wrong_answer_is_not_passed_on(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 wrong\nb 0.05 no"})
    ended = solve(folder, *CALL, "instances/one.toy")
    assert ended.stdout == b"answer no\n"
    assert b"wrong" not in ended.stdout


def test_an_instance_through_a_pipe(folder: Path) -> None:
    for number in range(2):
        ended = solve(folder, *CALL, *["-"] * number, input=b"a 0.02 yes\nb 0.02 yes\n")
        assert ended.stdout == b"answer yes\n"
    script = " ".join([sys.executable, "-m", "tailcut", "solve", *CALL, "<(echo a 0.02 no; echo b 0.02 no)"])
    ended = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, timeout=60)
    assert ended.stdout == b"answer no\n", ended.stderr
    end_daemons(folder)
    names = Learned(folder / "s.db").instances
    assert names[0] == names[1]
    assert names[0].startswith("stdin:")
    assert list(folder.glob("s.db-solve-inputs*")) == []


def test_mistakes_end_with_code_2_and_one_line(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes"})
    (folder / "broken.toml").write_text("[solvers.a]\n")
    (folder / "other.db").write_text("no state file at all, however long one looks at it")
    for arguments, word in (
        ((*CALL, "nothing.toy"), b"nothing.toy"),
        (("--portfolio", "broken.toml", "instances/one.toy"), b"broken.toml"),
        (("--portfolio", "absent.toml", "instances/one.toy"), b"absent.toml"),
        (("--domain", "chess", "instances/one.toy"), b"chess"),
        (("instances/one.toy",), b"--domain"),
        ((*CALL, "--cutoff", "-1", "instances/one.toy"), b"cutoff"),
        ((*CALL, "--server", "http://localhost:1", "instances/one.toy"), b"--state"),
        (("--portfolio", "portfolio.toml", "--state", "other.db", "instances/one.toy"), b"other.db"),
        (("--portfolio", "portfolio.toml", "--state", "no/such/s.db", "instances/one.toy"), b"no/such"),
    ):
        environment = dict(os.environ, XDG_STATE_HOME=str(folder / "home"))
        ended = solve(folder, *arguments, env=environment)
        assert (ended.returncode, ended.stdout) == (2, b""), arguments
        assert word in ended.stderr, ended.stderr
        assert b"Traceback" not in ended.stderr


def test_a_portfolio_that_has_changed_is_read_again(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes\nc 0.02 yes"})
    solve(folder, *CALL, "instances/one.toy")
    toy.write_portfolio(folder, ("c",), top="cutoff = 20")
    assert solve(folder, *CALL, "instances/one.toy").returncode == 0
    assert toy.log(folder)[-1] == ["answer", "c", "one.toy"]
    (folder / "second.toml").write_text((folder / "portfolio.toml").read_text())
    ended = solve(folder, "--portfolio", "second.toml", "--state", "s.db", "instances/one.toy")
    assert ended.returncode == 2
    assert b"--stop" in ended.stderr
    assert solve(folder, "--state", "s.db", "--stop").returncode == 0
    assert daemons(folder) == []
    ended = solve(folder, "--portfolio", "second.toml", "--state", "s.db", "instances/one.toy")
    assert ended.returncode == 0


def test_the_daemon_ends_when_idle(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes"})
    assert solve(folder, *CALL, "--keep", "0.3", "instances/one.toy").returncode == 0
    wait_for(lambda: daemons(folder) == [], 20)
    assert solve(folder, *CALL, "--keep", "0.3", "instances/one.toy").returncode == 0
    wait_for(lambda: daemons(folder) == [], 20)
    assert Learned(folder / "s.db").statuses.count("solved") == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_call_that_is_ended_takes_its_solver_along(folder: Path, number: signal.Signals) -> None:
    toy.write_instances(folder, {"long": "a 60 yes", "one": "a 0.02 yes\nb 0.02 yes"})
    solve(folder, *CALL, "instances/one.toy")
    call = begin(folder, *CALL, "instances/long.toy")
    wait_for(lambda: any(line[2] == "long.toy" for line in toy.log(folder)))
    call.send_signal(number)
    call.communicate(timeout=20)
    assert call.returncode == -number
    if number is not signal.SIGKILL:
        assert processes(folder, "long.toy") == []  # before the call itself has ended
    wait_for(lambda: processes(folder, "long.toy") == [], 20)
    end_daemons(folder)
    learned = Learned(folder / "s.db")
    assert learned.statuses[-1] == "censored"
    assert learned.pending == 0


def test_a_killed_daemon_costs_no_answer_and_no_outcome(folder: Path) -> None:
    toy.write_instances(folder, {"two": "a 1.5 yes\nb 1.5 yes"})
    call = begin(folder, *CALL, "instances/two.toy")
    wait_for(lambda: toy.log(folder) != [])
    (daemon,) = daemons(folder)
    os.kill(daemon, signal.SIGKILL)
    output, _ = call.communicate(timeout=60)
    assert (output, call.returncode) == (b"answer yes\n", 0)
    end_daemons(folder)
    learned = Learned(folder / "s.db")
    assert len(learned.instances) == 1  # the decision was made once
    assert learned.statuses.count("solved") == 1
    assert learned.pending == 0


def test_a_state_file_that_tailcut_run_writes(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes", "two": "a 0.02 no\nb 0.02 no"})
    run = [sys.executable, "-m", "tailcut", "run", "portfolio.toml", "instances/one.toy", "--state", "s.db"]
    more = ["--selector", "tailcut_schedule"]
    assert subprocess.run([*run, *more], cwd=folder, capture_output=True, timeout=60).returncode == 0
    assert solve(folder, *CALL, "instances/two.toy").stdout == b"answer no\n"
    end_daemons(folder)
    assert Learned(folder / "s.db").statuses.count("solved") == 2


def test_many_calls_at_once_and_some_are_killed(folder: Path) -> None:
    texts = {
        f"i{number}": f"a 0.1 {'yes' if number % 2 else 'no'}\nb 0.1 {'yes' if number % 2 else 'no'}"
        for number in range(24)
    }
    toy.write_instances(folder, texts)
    calls = {name: begin(folder, *CALL, f"instances/{name}.toy") for name in texts}
    time.sleep(1.5)
    killed = [name for name in ("i3", "i10", "i17") if calls[name].poll() is None]
    for name in killed:
        calls[name].kill()
    for name, call in calls.items():
        output, errors = call.communicate(timeout=120)
        if name not in killed:
            expected = b"answer yes\n" if int(name[1:]) % 2 else b"answer no\n"
            assert (output, call.returncode) == (expected, 0), errors
    end_daemons(folder)
    learned = Learned(folder / "s.db")
    assert learned.statuses.count("solved") >= len(texts) - len(killed)
    assert learned.pending == 0


SAT = b"p cnf 2 2\n1 -2 0\n2 0\n"
UNSAT = b"p cnf 1 2\n1 0\n-1 0\n"


def test_the_bundled_solvers_as_one(tmp_path: Path) -> None:
    pytest.importorskip("pysat", reason="needs the extra sat")
    (tmp_path / "sat.cnf").write_bytes(SAT)
    (tmp_path / "unsat.cnf.gz").write_bytes(gzip.compress(UNSAT))
    call = ("--domain", "sat", "--state", "s.db", "--cutoff", "30")
    try:
        ended = solve(tmp_path, *call, "sat.cnf")
        assert (ended.stdout, ended.returncode) == (b"s SATISFIABLE\nv 1 2 0\n", 10), ended.stderr
        for ended in (
            solve(tmp_path, *call, "unsat.cnf.gz"),
            solve(tmp_path, *call, input=gzip.compress(UNSAT)),
            solve(tmp_path, *call, input=UNSAT),
        ):
            assert (ended.stdout, ended.returncode) == (b"s UNSATISFIABLE\n", 20), ended.stderr
    finally:
        end_daemons(tmp_path)


def test_what_is_learned_may_be_kept_by_a_server(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the extra service")
    from tests.service.running import Running

    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes"})
    with Running(folder / "server.db") as server:
        environment = dict(os.environ, TAILCUT_TOKEN=server.token, XDG_STATE_HOME=str(folder))
        call = ("--portfolio", "portfolio.toml", "--server", server.address, "--keep", "20")
        for _ in range(2):
            ended = solve(folder, *call, "instances/one.toy", env=environment)
            assert (ended.stdout, ended.returncode) == (b"answer yes\n", 0), ended.stderr
        with server.client() as client:
            found = client.project("solve").statistics()
        assert (found["solved"], found["pending"]) == (2, 0)
        wrong = dict(environment, TAILCUT_TOKEN="guessed")
        for project in ("other", "solve"):  # for the latter a daemon runs that was given a good token
            ended = solve(folder, *call, "--project", project, "instances/one.toy", env=wrong)
            assert (ended.returncode, ended.stdout) == (2, b"")
            assert b"token" in ended.stderr
            assert b"Traceback" not in ended.stderr
        assert solve(folder, *call, "instances/one.toy", env=environment).returncode == 0
        ended = solve(folder, *call, "--selector", "random", "instances/one.toy", env=environment)
        assert ended.returncode == 2
        assert b"the project solve of" in ended.stderr


def test_another_selector_is_refused_while_the_daemon_runs(folder: Path) -> None:
    toy.write_instances(folder, {"one": "a 0.02 yes\nb 0.02 yes"})
    for selector, code in (("tailcut", 0), ("random", 2), ("tailcut", 0)):
        ended = solve(folder, *CALL, "--selector", selector, "instances/one.toy")
        assert ended.returncode == code, ended.stderr
    assert solve(folder, "--state", "s.db", "--stop").returncode == 0


def test_an_answer_outlives_its_server(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the extra service")
    from tests.service.running import ServerProcess

    toy.write_instances(folder, {"slow": "a 2 yes\nb 2 yes", "quick": "a 0.02 no\nb 0.02 no"})
    with ServerProcess(folder / "server.db") as server:
        environment = dict(os.environ, TAILCUT_TOKEN=server.token(), XDG_STATE_HOME=str(folder))
        call = ("--portfolio", "portfolio.toml", "--server", server.address, "--selector", "tailcut")
        running = begin(folder, *call, "--cutoff", "20", "instances/slow.toy", env=environment)
        wait_for(lambda: any("start" in line for line in toy.log(folder)))
        server.end(signal.SIGKILL)
        out, err = running.communicate(timeout=120)
        assert (out, running.returncode) == (b"answer yes\n", 0), err
        assert f"nothing was learned from it: the service at {server.address} does not".encode() in err
        ended = solve(folder, *call, "instances/quick.toy", env=environment)
        assert ended.returncode == 2
        assert ended.stderr.startswith(f"tailcut: the service at {server.address} does not answer".encode())
