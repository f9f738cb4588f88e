"""The daemon of ``tailcut solve``: owns a state file, serves any number of calls at once, ends when idle.

It has loaded what a decision needs, and its fork server what solvers need, so that a call pays for neither.
Decisions are made one at a time, in one thread; anything that takes longer runs concurrently. It is started
by a client, which has taken the lock (`thin_client.Place`) for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import shutil
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.errors import InputError, TailcutError
from tailcut.live.engine import LocalProgramExecutor
from tailcut.live.instances import Instance
from tailcut.live.portfolio import Portfolio, domain_portfolio, read_portfolio
from tailcut.solve.solving import ServerProject, SolveCall, StateProject, check_selector
from tailcut.solve.thin_client import SILENCE, Place, RefusedError, peer

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Request = dict[str, Any]
_PULSE = 1.0
"""Seconds between two signs of life."""
_LENGTHS = struct.Struct("!QQQ")
_MAGIC = ((b"\x1f\x8b", ".gz"), (b"\xfd7zXZ\x00", ".xz"))


def main(arguments: list[str]) -> None:
    """Serve a state file; the lock and a pipe to the client that waits are inherited."""
    lock, waiting, state, keep = int(arguments[0]), int(arguments[1]), arguments[2], float(arguments[3])
    _stand_alone({lock, waiting})
    try:
        place = Place(state)
        listening = place.listen()
    except (OSError, RefusedError) as error:
        os.write(waiting, f"{state}: the daemon cannot be started: {error}".encode())
        sys.exit(f"{error}")
    os.write(waiting, b"ready")
    os.close(waiting)
    try:
        asyncio.run(SolveDaemon(place, keep).serve(listening))
    finally:
        _remove(Path(place.inputs))


def _remove(folder: Path) -> None:
    """Remove a folder; a link or a pipe in its place is left alone."""
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


def _stand_alone(kept: set[int]) -> None:
    """Leave the caller's session, files and soft limits, because other callers will be served too."""
    os.setsid()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))
    for descriptor in kept:
        os.set_inheritable(descriptor, False)
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(kind)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (hard, hard))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _PortfolioInUse(NamedTuple):
    portfolio: Portfolio
    executor: LocalProgramExecutor
    stamp: tuple[str, int, int]
    """Its path, date and size: it is read again when they have changed."""


class SolveDaemon:
    """Serves calls until there have been none for `keep` seconds."""

    def __init__(self, place: Place, keep: float) -> None:
        self._place, self._keep = place, keep
        self._projects: dict[str | None, StateProject | ServerProject] = {}
        """By the token that the server knows them by; None: the state file's."""
        self._served: _PortfolioInUse | None = None
        self._old: list[LocalProgramExecutor] = []
        """Executors of changed portfolios: calls in progress may still use them."""
        self._calls: set[SolveCall] = set()
        self._connections = 0
        self._last = 0.0
        self._inputs = 0
        self._over = asyncio.Event()

    async def serve(self, listening: Any) -> None:
        """Accept calls until the daemon ends; those in progress are finished."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end_all)
        self._last = loop.time()
        server = await asyncio.start_unix_server(self._connected, sock=listening)
        while not self._over.is_set():
            left = self._keep - (loop.time() - self._last)
            if left <= 0.0 and not self._connections:
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), max(left, 0.05))
        self._place.remove_socket()  # later calls start another daemon
        server.close()
        while self._connections:
            await asyncio.sleep(0.01)
        if self._served is not None:
            self._old.append(self._served.executor)
        for executor in self._old:
            executor.close()
        for project in self._projects.values():
            project.close()

    def _end_all(self) -> None:
        """End on request: solvers are stopped, and that is learned."""
        self._over.set()
        for call in self._calls:
            call.stop()

    async def _connected(self, reader: Reader, writer: Writer) -> None:
        writer.transport.set_write_buffer_limits(0)  # `drain` waits until all has been taken
        try:
            if peer(writer.get_extra_info("socket"))[1] != os.geteuid():
                raise PermissionError  # whoever may ask may have any program run
            async with asyncio.timeout(SILENCE):
                request, content = await _received(reader)
            if "stop" in request:
                self._over.set()
            while "stop" in request:  # until this process ends
                _write(writer, {})
                await asyncio.sleep(_PULSE)
            await self._answer(request, content, reader, writer)
        except (EOFError, OSError):  # the client is gone, or frozen
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, request: Request, content: bytes, reader: Reader, writer: Writer) -> None:
        self._connections += 1
        try:
            try:
                message, output = await self._solved(request, content, reader, writer)
            except TailcutError as error:
                message, output = {"refused": str(error)}, b""
            except OSError as error:
                words = f"{error.filename or self._place.state}: {error.strerror or error}"
                sys.stderr.write(f"{request['instance'] or 'standard input'}: {words}\n")
                message, output = {"refused": words}, b""
            _write(writer, message, output)
            async with asyncio.timeout(SILENCE):
                await writer.drain()
        finally:
            self._connections -= 1
            self._last = asyncio.get_running_loop().time()

    async def _solved(
        self, request: Request, content: bytes, reader: Reader, writer: Writer
    ) -> tuple[dict[str, Any], bytes]:
        served, project = self._ready(request)
        path = request["instance"]
        instance = self._kept_input(content, served.portfolio) if path is None else Instance(path, Path(path))
        call = SolveCall(served.executor, served.portfolio, project, instance, request)
        self._calls.add(call)
        work = asyncio.create_task(call.run())
        hung_up = asyncio.create_task(reader.read(1))
        try:
            while not work.done() and not hung_up.done():
                ended, _ = await asyncio.wait(
                    {work, hung_up}, timeout=_PULSE, return_when=asyncio.FIRST_COMPLETED
                )
                if not ended:
                    _write(writer, {})
            if not work.done():
                call.stop()
            return await work
        finally:
            self._calls.discard(call)
            hung_up.cancel()
            if path is None:
                instance.path.unlink(missing_ok=True)

    def _ready(self, request: Request) -> tuple[_PortfolioInUse, StateProject | ServerProject]:
        """Return the portfolio and the project, both created by the first call that needs them."""
        path, stamp = request["portfolio"], _stamp(request)
        served, project = self._served, self._projects.get(request["token"])
        if served is not None and served.stamp[0] != stamp[0]:
            raise InputError(
                f"{self._place.state}: is in use with the portfolio {served.stamp[0]}; "
                "give another --state, or call `tailcut solve --stop` first"
            )
        if served is None or served.stamp != stamp:
            portfolio = domain_portfolio(request["domain"]) if path is None else read_portfolio(path)
            served = _PortfolioInUse(portfolio, LocalProgramExecutor.of(portfolio), stamp)
            for one in self._projects.values():
                one.update(portfolio)
        if project is None:  # a token may be wrong even if an earlier call had a good one
            project = self._projects[request["token"]] = (
                StateProject(self._place.state, served.portfolio, request)
                if request["server"] is None
                else ServerProject(served.portfolio, request)
            )
        check_selector(project, request["selector"])
        if self._served is not None and served is not self._served:
            self._old.append(self._served.executor)
        self._served = served
        return served, project

    def _kept_input(self, content: bytes, portfolio: Portfolio) -> Instance:
        """Write an instance from a pipe to a file, named by the convention of its domain."""
        folder = Path(self._place.inputs)
        if not self._inputs:
            _remove(folder)  # of a daemon that was killed
            folder.mkdir(mode=0o700)
        ending = Path(portfolio.instances[0]).suffix if portfolio.instances[0] != "*" else ""
        packed = next((name for magic, name in _MAGIC if content.startswith(magic)), "")
        self._inputs += 1
        path = folder / f"{self._inputs}{ending}{packed}"
        try:
            with path.open("xb") as file:
                file.write(content)
        except OSError as error:
            path.unlink(missing_ok=True)  # there may be no room
            raise OSError(error.errno, error.strerror, str(path)) from None
        return Instance(f"stdin:{hashlib.sha256(content).hexdigest()[:32]}", path)


def _stamp(request: Request) -> tuple[str, int, int]:
    """Return the fingerprint of a call's portfolio, which begins with its path."""
    path = request["portfolio"]
    if path is None:
        return f"of the domain {request['domain']}", 0, 0
    try:
        found = Path(path).stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return path, found.st_mtime_ns, found.st_size


async def _received(reader: Reader) -> tuple[Request, bytes]:
    """Return a message as `tailcut.live.limits.wire` sends it."""
    text, first, second = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    message: Request = json.loads(await reader.readexactly(text))
    content = await reader.readexactly(first)
    await reader.readexactly(second)
    return message, content


def _write(writer: Writer, message: dict[str, Any], output: bytes = b"") -> None:
    text = json.dumps(message).encode()
    writer.write(_LENGTHS.pack(len(text), len(output), 0) + text)
    writer.write(output)


if __name__ == "__main__":
    main(sys.argv[1:])
