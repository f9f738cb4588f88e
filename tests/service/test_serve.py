"""``tailcut serve`` as a process: what it prints, how it ends, what it logs."""

from __future__ import annotations

import gc
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailcut.journal import Journal
from tailcut.service.client import Client
from tailcut.service.http_server import SWITCH, YOUNG
from tests.service.running import Running, ServerProcess


def test_first_start_second_start_and_an_orderly_end(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    first = ServerProcess(state, "--log-json", "--log-level", "debug")
    token = first.token()
    assert first.dashboard == f"dashboard: {first.address}/\n"
    assert first.address.startswith("http://127.0.0.1:")
    with Client(first.address, token) as client:
        project = client.create_project("p", algorithms=["a", "b"], cutoff=60.0)
        decision = project.select([1.0, 2.0])
    assert first.end() == 0
    lines = [json.loads(line) for line in first.log.read_text().splitlines()]
    messages = [line["message"] for line in lines]
    assert messages[0] == "ready"
    assert "stopping" in messages
    asked = lines[messages.index("request")]
    assert {"method", "path", "status", "milliseconds", "request"} <= asked.keys()
    assert token not in first.log.read_text()
    with Journal(state, read_only=True) as journal:
        snapshot = journal.snapshot(1)
        assert snapshot is not None
        assert snapshot.event == journal.last(1) == 1
    second = ServerProcess(state)
    with Client(second.address, token) as client:
        assert client.project("p").observe(decision, runtime=1.0)
    assert second.end(signal.SIGINT) == 0
    second_out = second.log.read_text()
    assert "INFO ready" in second_out
    assert "token" not in second_out


def test_the_interpreter_s_settings_are_put_back(tmp_path: Path) -> None:
    before = sys.getswitchinterval(), gc.get_threshold()
    with Running(tmp_path / "state.db"):
        assert sys.getswitchinterval() == pytest.approx(SWITCH)
        assert gc.get_threshold()[0] == YOUNG
    assert (sys.getswitchinterval(), gc.get_threshold()) == before


def test_what_is_under_way_is_finished(tmp_path: Path) -> None:
    """A request that the server has taken in is answered, although it was told to stop meanwhile."""
    state = tmp_path / "state.db"
    server = ServerProcess(state)
    token = server.token()
    with Client(server.address, token) as client:
        client.create_project("p", algorithms=["a", "b"], cutoff=60.0, selector="tailcut")
    host, port = server.address.removeprefix("http://").split(":")
    body = json.dumps({"requests": [{"features": [float(n)] * 50} for n in range(400)]}).encode()
    head = (
        f"POST /v1/projects/p/select/batch HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        time.sleep(0.02)
        server.process.send_signal(signal.SIGTERM)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert server.process.wait(60) == 0
    server.out.close()
    with Journal(state, read_only=True) as journal:
        kept = len(list(journal.events(1)))
    assert kept == (400 if answer.startswith(b"HTTP/1.1 200") else 0)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b'"algorithm"') == 400


def test_without_the_extra_it_says_which(tmp_path: Path) -> None:
    lines = [
        "import sys",
        "sys.modules['fastapi'] = None",
        "sys.argv = ['tailcut', 'serve', '--state', 'state.db']",
        "from tailcut.cli import main",
        "main()",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (result.returncode, "needs the extra 'service'" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--state", "{folder}/none/state.db"], "there is no folder"),
        (["--state", "{folder}"], "unable to open"),
        (["--state", "{folder}/state.db", "--host", "256.1.1.1"], "cannot listen on"),
        (["--state", "{folder}/state.db", "--port", "{port}"], "cannot listen on"),
        (["--state", "{folder}/locked.db"], "another process is writing"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(tmp_path: Path, options: list[str], message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Journal(tmp_path / "locked.db"):
        port = taken.getsockname()[1]
        given = [option.format(folder=tmp_path, port=port) for option in options]
        command = [sys.executable, "-m", "tailcut", "serve", "--port", "0", *given]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
