"""A real server on a free port, in a thread of the tests, and a plain way to talk to it."""

from __future__ import annotations

import http.client
import json
import threading
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.journal import Tokens
from tailcut.service import http_server
from tailcut.service.client import Client
from tailcut.service.service_limits import ServiceLimits
from tailcut.service.shared import ServiceContext


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
        self.server = http_server.prepared(path, limits=limits, ready=ready.set)
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
