"""Many connections: 10,000 that are open and idle, and 2,000 clients that ask, each in its turn.

A server is started from the command line on a port of its own. Idle clients open a connection, ask once and
keep it; asking clients ask and report every `--every` seconds over connections that stay open. Counted are
requests that were not served, seconds per request, and the server's memory.

    python benchmarks/connections.py
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Run it and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--asking", type=int, default=2_000)
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two requests of a client")
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument("--selector", default="tailcut")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(measure(options), indent=2))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Start a server, let the clients at it, and return the counts."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tailcut",
            "serve",
            "--state",
            f"{folder}/state.db",
            "--port",
            "0",
        ]
        command += ["--log-level", "warning"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            server.stdout.readline()
            token = server.stdout.readline().split()[-1]
            try:
                before = memory(server.pid)
                found = asyncio.run(clients(address, token, options))
                found["server_mb_before"], found["server_mb_peak"] = before, memory(server.pid, "VmHWM")
            finally:
                server.terminate()
        return found


def memory(process: int, what: str = "VmRSS") -> int:
    """Return megabytes of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) // 1024


class Client:
    """One connection that stays open."""

    def __init__(self, address: str, token: str) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port = int(port)
        self.head = (
            f"Host: {self.host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        )

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=1 << 14)

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request, once, and return what came back."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(content)}\r\n\r\n"
        self.writer.write(head.encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        return int(lines[0].split()[1]), json.loads(await self.reader.readexactly(length))


async def clients(address: str, token: str, options: argparse.Namespace) -> dict[str, Any]:
    """Open all connections, let some ask, and check afterwards that the idle ones still work."""
    first = Client(address, token)
    await first.open()
    body = {"name": "p", "algorithms": list("abcdefghij"), "cutoff": 60.0, "selector": options.selector}
    assert (await first.call("POST", "/v1/projects", body))[0] == 201
    counts = {"requests": 0, "lost": 0}
    seconds: list[float] = []
    idle = [Client(address, token) for _ in range(options.idle)]
    for start in range(0, len(idle), 500):
        await asyncio.gather(*(greet(one, counts) for one in idle[start : start + 500]))
    asking = [Client(address, token) for _ in range(options.asking)]
    end = time.monotonic() + options.seconds
    await asyncio.gather(*(ask(one, options.every, end, counts, seconds) for one in asking))
    for start in range(0, len(idle), 500):
        await asyncio.gather(*(greet(one, counts, again=True) for one in idle[start : start + 500]))
    seconds.sort()
    return {
        "idle": options.idle,
        "asking": options.asking,
        "every_s": options.every,
        **counts,
        "median_ms": round(1e3 * seconds[len(seconds) // 2], 1),
        "p99_ms": round(1e3 * seconds[int(0.99 * len(seconds))], 1),
        "cores": os.cpu_count(),
    }


async def greet(client: Client, counts: dict[str, int], *, again: bool = False) -> None:
    """Ask whether the server is well."""
    counts["requests"] += 1
    try:
        if not again:
            await client.open()
        status, _ = await client.call("GET", "/v1/health")
        counts["lost"] += status != 200
    except (OSError, EOFError):
        counts["lost"] += 1


async def ask(client: Client, every: float, end: float, counts: dict[str, int], seconds: list[float]) -> None:
    """Ask for decisions and report outcomes until the end."""
    chance = random.Random(id(client))
    await asyncio.sleep(chance.uniform(0.0, every))
    try:
        await client.open()
        while time.monotonic() < end:
            features = [chance.random() for _ in range(20)]
            began = time.monotonic()
            counts["requests"] += 2
            status, decision = await client.call("POST", "/v1/projects/p/select", {"features": features})
            seconds.append(time.monotonic() - began)
            counts["lost"] += status != 200
            outcome = {"decision": decision.get("id", 0), "runtime": chance.expovariate(1.0)}
            status, _ = await client.call("POST", "/v1/projects/p/observe", outcome)
            counts["lost"] += status != 200
            await asyncio.sleep(max(0.0, every - (time.monotonic() - began)))
    except (OSError, EOFError):
        counts["lost"] += 1


if __name__ == "__main__":
    main()
