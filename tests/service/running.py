"""Real servers on free ports, in a thread of the tests or in a process, and a plain way to talk to them."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from tailcut.journal import Tokens
from tailcut.service import http_server
from tailcut.service.client import Client
from tailcut.service.routes import ServiceContext
from tailcut.service.service_limits import ServiceLimits


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server that answers until it is stopped."""

    def __init__(self, path: Path, limits: ServiceLimits | None = None, port: int = 0) -> None:
        self.path = path
        self.token = http_server.first_token(path) or Tokens(path).create("again", ["read", "write"])
        existing = {token.name for token in Tokens(path).all()}
        self.read_token = Tokens(path).create(f"reader{len(existing)}", ["read"])
        self._listener = http_server.bound("127.0.0.1", port)
        self.host, self.port = self._listener.getsockname()
        self.address = f"http://{self.host}:{self.port}"
        ready = threading.Event()

        def started() -> None:
            self.loop = asyncio.get_running_loop()
            ready.set()

        self.server = http_server.prepared(path, limits=limits, ready=started)
        self._thread = threading.Thread(target=http_server.serve, args=(self.server, self._listener))
        self._thread.start()
        assert ready.wait(60)

    @property
    def context(self) -> ServiceContext:
        context: ServiceContext = self.server.application.state.context
        return context

    def stop(self) -> None:
        self.server.handle_exit(15, None)
        self._thread.join(60)
        self._listener.close()
        assert not self._thread.is_alive()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request; a `body` of bytes goes as it is, anything else as JSON. token: None for none."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        content = body if isinstance(body, bytes) or body is None else json.dumps(body)
        try:
            connection.request(method, path, content, {**sent, **(headers or {})})
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)

    def client(self, **more: Any) -> Client:
        return Client(self.address, self.token, **more)

    def create(self, name: str = "p", selector: str = "thompson_rev", **more: Any) -> str:
        """Make a project and return its path."""
        body = {"name": name, "algorithms": ["a", "b", "c"], "cutoff": 60.0, "selector": selector, **more}
        answer = self.call("POST", "/v1/projects", body)
        assert answer.status == 201, answer.body
        return f"/v1/projects/{name}"


_WITH_LIMITS = """
from tailcut.cli import app
from tailcut.service import http_server
from tailcut.service.service_limits import ServiceLimits
ordinary = http_server.prepared
http_server.prepared = lambda path, *, limits, **more: ordinary(path, limits={limits!r}, **more)
app.run()
"""


class ServerProcess:
    """A server started from the command line; ended at the latest with its context."""

    def __init__(
        self,
        state: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        limits: ServiceLimits | None = None,
    ) -> None:
        start = ["-m", "tailcut"]
        if limits is not None:  # which have no options
            start = ["-c", _WITH_LIMITS.format(limits=limits)]
        command = [sys.executable, *start, "serve", "--state", str(state), "--port", "0"]
        self.log = state.with_name("log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **(environment or {})},
            )
        assert self.process.stdout is not None
        self.out: IO[str] = self.process.stdout
        self.address = self.out.readline().split()[-1]
        self.dashboard = self.out.readline()
        self.host, port = self.address.removeprefix("http://").split(":")
        self.port = int(port)

    def token(self) -> str:
        """Return the first token; only the first start shows it."""
        return self.out.readline().split()[-1]

    def peak_memory(self) -> int:
        """Return the most memory it has held so far, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1000

    def waited_for_a_processor(self) -> float:
        """Return the seconds that its event loop was ready and had no processor: a busy machine's fault."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.out.close()
        return code

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.close()
