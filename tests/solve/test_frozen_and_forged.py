"""`tailcut solve` beside processes that are frozen, silent or another user's: real sockets and signals."""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.live.limits import wire
from tailcut.solve import daemon
from tailcut.solve.thin_client import Place
from tests.live import toy
from tests.live.commands import wait_for
from tests.solve.calls import Learned, begin, daemons, end_daemons, solve

pytestmark = pytest.mark.flaky(reruns=1)  # a busy machine may be to blame

CALL = ("--portfolio", "portfolio.toml", "--state", "s.db")
ONE = "instances/one.toy"
STOP = ("--state", "s.db", "--stop")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a portfolio of toys; what is started there is ended, even if it is frozen."""
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 20")
    toy.write_instances(tmp_path, {"one": "a 0.02 yes\nb 0.02 yes"})
    yield tmp_path
    for process in daemons(tmp_path):
        os.kill(process, signal.SIGCONT)
    end_daemons(tmp_path)


def freeze_daemon(folder: Path) -> int:
    (process,) = daemons(folder)
    os.kill(process, signal.SIGSTOP)
    return process


def test_a_frozen_daemon_is_named_and_stop_kills_it(folder: Path) -> None:
    assert solve(folder, *CALL, ONE).stdout == b"answer yes\n"
    frozen = freeze_daemon(folder)
    ended = solve(folder, *CALL, ONE, silence=1)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert f"the daemon (process {frozen}) has said nothing for 1 s".encode() in ended.stderr
    assert ended.stderr.count(b"\n") == 1
    ended = solve(folder, *STOP, silence=1)
    assert (ended.returncode, daemons(folder)) == (0, [])
    assert b"did not answer and was killed" in ended.stderr
    assert solve(folder, *CALL, ONE).stdout == b"answer yes\n"
    end_daemons(folder)
    assert Learned(folder / "s.db").statuses == ["solved", "solved"]


def test_stop_kills_a_daemon_that_was_frozen_while_it_ended(folder: Path) -> None:
    solve(folder, *CALL, ONE)
    freeze_daemon(folder)
    (folder / "s.db-solve").unlink()
    ended = solve(folder, *STOP, silence=1)
    assert (ended.returncode, daemons(folder)) == (0, []), ended.stderr


def test_stop_kills_no_other_process(folder: Path) -> None:
    with subprocess.Popen(["sleep", "20"]) as other:
        lock = (folder / "s.db-solve-lock").open("w")
        with lock:
            lock.write(str(other.pid))
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            ended = solve(folder, *STOP, silence=0.5)
        assert (ended.returncode, other.poll()) == (2, None)
        assert b"does not end and cannot be killed" in ended.stderr
        other.kill()


def test_a_daemon_at_work_is_waited_for_by_calls_and_by_stop(folder: Path) -> None:
    slow = ["sh", "-c", "echo start >> slow; sleep 5; echo answer yes", "{instance}"]
    (folder / "portfolio.toml").write_text(f"cutoff = 20\n[solvers.slow]\ncommand = {slow}\n")
    running = begin(folder, *CALL, ONE, silence=3.5)
    wait_for((folder / "slow").exists)
    stopping = solve(folder, *STOP, silence=3.5)
    assert (stopping.returncode, stopping.stderr, daemons(folder)) == (0, b"", [])
    assert running.communicate(timeout=60) == (b"answer yes\n", b"")


def test_silent_and_frozen_clients_do_not_keep_the_daemon(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "SILENCE", 1.0)
    printing = [sys.executable, "-ISc", "print('x' * 4_000_000)", "{instance}"]
    (folder / "portfolio.toml").write_text(f"cutoff = 20\n[solvers.a]\ncommand = {printing}\n")
    place = Place(str(folder / "s.db"))
    listening = place.listen()
    silent, frozen = place.connect(), place.connect()
    assert silent is not None
    assert frozen is not None
    names = ("domain", "server", "cutoff", "selector", "seed", "token")
    request = {
        **dict.fromkeys(names),
        "parallel": 1,
        "portfolio": str(folder / "portfolio.toml"),
        "instance": str(folder / ONE),
        "key": "k",
    }
    wire.send(frozen, request)  # its answer does not fit into the socket
    with silent, frozen:
        asyncio.run(asyncio.wait_for(daemon.SolveDaemon(place, 0.5).serve(listening), 60))
    assert Learned(folder / "s.db").statuses == ["solved"]


FORGER = """
import os, socket, sys
sys.path[:0] = sys.argv[2:]
from tailcut.live.limits import wire
os.setgid(65534); os.setuid(65534)
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listening.listen()
print("ready", flush=True)
while True:
    connection, _ = listening.accept()
    wire.receive(connection)
    wire.send(connection, {"exit_code": 0, "problems": [], "report": {}}, b"answer forged")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_users_socket_is_not_believed(folder: Path) -> None:
    shared = Path(tempfile.gettempdir())
    for parent in folder.parents:
        if shared in parent.parents:
            parent.chmod(0o755)
    folder.chmod(0o1777)
    forger = subprocess.Popen(
        [sys.executable, "-c", FORGER, str(folder / "s.db-solve"), *sys.path], stdout=subprocess.PIPE
    )
    assert forger.stdout is not None
    try:
        assert forger.stdout.readline() == b"ready\n"
        for arguments in ((*CALL, ONE), STOP):
            ended = solve(folder, *arguments)
            assert (ended.returncode, ended.stdout) == (2, b"")
            assert b"s.db-solve: belongs to another user" in ended.stderr
    finally:
        forger.kill()
        forger.communicate()


def test_a_socket_that_others_may_write_to_is_not_believed(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.db-solve"))
        listening.listen()
        (folder / "s.db-solve").chmod(0o622)
        ended = solve(folder, *CALL, ONE)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"s.db-solve: belongs to another user, or others may write to it" in ended.stderr


@pytest.mark.parametrize(("mode", "code"), [(0o777, 2), (0o757, 2), (0o1777, 0), (0o755, 0)])
def test_a_folder_where_others_may_replace_files_is_refused(folder: Path, mode: int, code: int) -> None:
    folder.chmod(mode)
    ended = solve(folder, *CALL, ONE)
    assert ended.returncode == code, ended.stderr
    assert (b"others may write there" in ended.stderr) == (code == 2)
    assert (folder / "s.db").exists() == (code == 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(folder: Path) -> None:
    os.chown(folder, 65534, 65534)
    ended = solve(folder, *CALL, ONE)
    assert ended.returncode == 2
    assert b"belongs to another user" in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another group")
@pytest.mark.parametrize(("group", "code"), [(0, 0), (1, 2)])
def test_only_ones_private_group_may_write_to_the_folder(folder: Path, group: int, code: int) -> None:
    os.chown(folder, -1, group)
    folder.chmod(0o775)
    assert solve(folder, *CALL, ONE).returncode == code


@pytest.mark.parametrize("ending", [".log", "-lock", "-inputs"])
@pytest.mark.parametrize("kind", ["symlink", "hard link", "fifo"])
def test_links_in_the_way_are_not_followed(folder: Path, ending: str, kind: str) -> None:
    precious, place = folder / "precious", folder / f"s.db-solve{ending}"
    precious.mkdir() if ending == "-inputs" else precious.write_text("mine")
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "symlink":
        place.symlink_to(precious)
    elif ending == "-inputs":
        pytest.skip("folders have one name")
    else:
        place.hardlink_to(precious)
    ended = solve(folder, *CALL, input=b"a 0.02 yes\nb 0.02 yes\n")
    assert (ended.returncode, ended.stdout) == (2, b""), ended.stderr
    assert f"s.db-solve{ending}: ".encode() in ended.stderr
    assert ended.stderr.count(b"\n") == 1
    assert list(precious.iterdir()) == [] if ending == "-inputs" else precious.read_text() == "mine"


def test_an_os_error_in_the_daemon_reaches_the_caller_and_the_log(folder: Path) -> None:
    limit = 2**21

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ended = solve(folder, *CALL, input=b"a 0.02 yes\n" * 2**18, preexec_fn=small_files)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.count(b"\n") == 1, ended.stderr
    assert b"s.db-solve-inputs/1.toy: File too large" in ended.stderr
    assert list((folder / "s.db-solve-inputs").iterdir()) == []
    assert b": File too large" in (folder / "s.db-solve.log").read_bytes()
    assert solve(folder, *CALL, ONE).stdout == b"answer yes\n"  # the daemon goes on


def test_a_daemon_that_is_frozen_at_its_start_is_given_up(folder: Path) -> None:
    def freeze() -> None:
        wait_for(lambda: daemons(folder) != [])
        freeze_daemon(folder)

    code = (
        "import tailcut.solve.thin_client as c; c._START = 3; c.SILENCE = 1\n"
        "from tailcut.cli import main; main()"
    )
    freezing = threading.Thread(target=freeze)
    freezing.start()
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", code, "solve", *CALL, ONE], cwd=folder, capture_output=True, timeout=100
    )
    freezing.join()
    assert ended.returncode == 2, "it was frozen too late"
    assert b"daemon" in ended.stderr
    assert time.monotonic() - began < 60
    assert solve(folder, *STOP, silence=1).returncode == 0
    assert daemons(folder) == []
