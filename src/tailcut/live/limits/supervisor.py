"""The supervisor of one run: starts the solver, samples it, ends what is left of it, and reports once."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from tailcut.live.limits import cgroups, solver_process, tree, wire
from tailcut.live.limits.values import Ending, ResourceLimits

_CORES = os.cpu_count() or 1
_SHORTEST = 0.001
"""Seconds between two samples of the CPU clock when the limit is near."""
_MEMORY_SHORTEST, _MEMORY_LONGEST = 0.005, 0.05
"""Seconds between two samples of the memory, if it is limited."""
_GROWTH = 8 * 2**30
"""The assumed maximum growth of a solver in bytes per second, for choosing the next sample."""
_DELAY_PAUSE = 0.1
"""Minimum seconds between two samples of how long the run waited for a processor."""
_IDLE_LONGEST = 1.0
"""Seconds between two samples of the memory, if only its peak is needed."""
_ERRORS_KEPT = 1 << 16
_PIECE = 1 << 16
"""Bytes of output taken at a time: what a pipe holds by default."""
_MOST_IN_A_PIPE = 1 << 22
"""Bytes; more than a pipe can be made to hold without privileges."""
_LONGEST_POLL = 3600.0


class KeptOutput:
    """The first `size` bytes that come out of a pipe, or the last; the rest is discarded.

    >>> reading, writing = os.pipe()
    >>> head = KeptOutput(reading, size=5)
    >>> os.write(writing, b"s SATISFIABLE")
    13
    >>> os.close(writing)
    >>> head.take_rest()
    >>> bytes(head.kept), head.truncated
    (b's SAT', True)
    """

    def __init__(self, pipe: int, size: int, *, last: bool = False) -> None:
        os.set_blocking(pipe, False)
        self.pipe, self.kept = pipe, bytearray()
        self.truncated = False
        """Whether there was more than the first bytes that are kept."""
        self._size, self._last = size, last

    def take(self) -> int:
        """Take one piece out of the pipe, if there is one, and return its length; 0 at the end."""
        piece = os.read(self.pipe, _PIECE)
        self.kept += piece
        if self._last:
            del self.kept[: -self._size]
        else:
            self.truncated |= len(self.kept) > self._size
            del self.kept[self._size :]
        return len(piece)

    def take_rest(self) -> None:
        """Take what is in the pipe now; do not wait for more if another process still holds it open."""
        with suppress(BlockingIOError):
            for _ in range(_MOST_IN_A_PIPE // _PIECE):
                if self.take() == 0:
                    break


class Watch:
    """The limits of one run, and the times of the next samples.

    The group counts what the tree misses, the tree what has left the group: the larger figure counts.
    """

    def __init__(
        self, limits: ResourceLimits, group: cgroups.Group | None, start_up: solver_process.StartUp
    ) -> None:
        self._limits, self._group, self._start_up = limits, group, start_up
        self._clock = tree.TreeClock()
        self._there_before = {str(file) for file in Path("/dev/shm").glob("**/*")}
        """Files in memory that are not the run's, though it may open them."""
        self.peak = 0
        self.waited = 0.0
        """Seconds that the run's processes were ready and had no processor, as far as was looked up."""
        self._delay_due = 0.0
        # With all cores at work the limit cannot be reached earlier; most short runs are over by then.
        first = math.inf if limits.cpu is None else max(limits.cpu / _CORES, _SHORTEST)
        self._cpu_due = time.monotonic() + first
        self._enforced = group is not None and group.enforces_memory
        self._pause = _MEMORY_LONGEST if self._enforced else _MEMORY_SHORTEST
        seen = group is not None and group.peak_memory() is not None
        polls_memory = limits.memory is not None or not seen
        self._memory_due = time.monotonic() + self._pause if polls_memory else math.inf

    def due(self) -> float:
        """Return the time of the next sample, infinity if none is needed."""
        wall = self._limits.wall
        end = math.inf if wall is None else self._start_up.time + wall
        return min(self._cpu_due, self._memory_due, end)

    def limit_reached(self) -> Ending | None:
        """Return the limit that is reached, None if the run may continue."""
        now = time.monotonic()
        if now >= self._cpu_due and self._cpu_is_used_up(now):
            return Ending.CPU_LIMIT
        if self._limits.wall is not None:
            self._start_up.read()
            if now - self._start_up.time >= self._limits.wall:
                self._sample_delay()
                return Ending.WALL_LIMIT
        if now >= self._memory_due and self._memory_is_used_up(now):
            return Ending.MEMORY_LIMIT
        return None

    def cpu(self) -> float:
        """Return the CPU seconds of the run without its start-up: never too high."""
        by_tree, by_group = self._clock.cpu(), 0.0 if self._group is None else self._group.cpu()
        self._start_up.read()  # after the clocks: if nothing is there, it was all start-up until now
        return max(by_tree - self._start_up.since_fork, by_group - self._start_up.since_joining, 0.0)

    def _cpu_is_used_up(self, now: float) -> bool:
        assert self._limits.cpu is not None
        left = self._limits.cpu - self.cpu()
        if self._limits.wall is not None and now >= self._delay_due:
            self._sample_delay()  # also for processes that end before the wall-clock limit
            self._delay_due = now + _DELAY_PAUSE
        cost = time.monotonic() - now
        # Even if it uses all cores, it cannot be far beyond the limit by then.
        self._cpu_due = now + max(left / _CORES, _SHORTEST, cost)
        return left <= 0

    def _sample_delay(self) -> None:
        self.waited = max(self._clock.waited(), 0.0 if self._group is None else self._group.waited())

    def _memory_is_used_up(self, now: float) -> bool:
        self._start_up.read()
        if not self._start_up.over:  # it still is a copy of ours, and shares our memory
            self._memory_due = now + _MEMORY_SHORTEST
            return False
        processes = list(tree.below(os.getpid()))
        if self._enforced and self._all_in_group(processes):  # then the kernel enforces the limit
            self._memory_due = now + _MEMORY_LONGEST
            return False
        held, limit = tree.memory_held(processes), self._limits.memory
        files = tree.files_in_memory(processes, but=self._there_before)
        used = held.now + max(files - held.shared, 0)  # what they have mapped of them is counted already
        if len(processes) > 1 and (limit is None or used > limit):
            share = tree.memory_share(processes)  # pages they share were counted once for each
            used = share.now + max(files - share.shared, 0)
        self.peak = max(self.peak, held.peak, used)
        cost = time.monotonic() - now
        if limit is None:
            self._pause = min(2 * self._pause, _IDLE_LONGEST)
        else:
            self._pause = min(max((limit - used) / _GROWTH, _MEMORY_SHORTEST), _MEMORY_LONGEST)
        self._memory_due = now + max(self._pause, 20 * cost)
        return limit is not None and used > limit

    def _all_in_group(self, processes: Collection[int]) -> bool:
        """Return whether none of the processes has moved itself to another group, as root may."""
        assert self._group is not None
        outside = set(processes) - set(self._group.processes())
        return not any(map(tree.is_alive, outside))


class Supervisor:
    """One run, from its request to its report; its process adopts orphans and ends with it."""

    def __init__(
        self, run: socket.socket, group: Path | None, lifelines: Collection[int], leave_open: Collection[int]
    ) -> None:
        self._run, self._lifelines, self._leave_open = run, lifelines, leave_open
        self._request, _, _ = wire.receive(run)
        self._limits = ResourceLimits(**self._request["limits"])
        self._group: cgroups.Group | None = None
        if group is not None:
            with suppress(OSError):  # continue without one if that no longer works
                self._group = cgroups.Group(group, self._limits.memory)
        self._status: int | None = None
        self._peak_of_one = 0
        self._verdict: Ending | None = None

    def _start(self) -> None:
        pipes = [os.pipe() for _ in range(3)]
        supervisor = os.getpid()
        self._main = os.fork()
        if self._main == 0:
            solver_process.become(
                self._request,
                supervisor=supervisor,
                group=self._group,
                streams=(pipes[0][1], pipes[1][1]),
                report=pipes[2][1],
                leave_open=self._leave_open,
            )
        for _, writing in pipes:
            os.close(writing)
        self._output = KeptOutput(pipes[0][0], self._request["keep_output"])
        self._errors = KeptOutput(pipes[1][0], _ERRORS_KEPT, last=True)
        self._start_up = solver_process.StartUp(pipes[2][0])
        self._watch = Watch(self._limits, self._group, self._start_up)

    def keep(self) -> None:
        """Start the solver, watch it to its end, end what it leaves behind, and report."""
        try:
            self._start()
        except OSError as error:
            if self._group is not None:
                self._group.remove()
            wire.send(self._run, {"error": f"the run was not started: out of processes or files: {error}"})
            return
        wanted = self._await_end()
        wall = max(time.monotonic() - self._start_up.time, 0.0)
        stuck = self._end_all()
        if not wanted:
            return
        for stream in (self._output, self._errors):
            stream.take_rest()
        ending, code, number, detail = self._how()
        if stuck:
            detail += f"; processes that could not be ended: {', '.join(map(str, stuck))}"
        report = {
            "ending": ending,
            "exit_code": code,
            "signal": number,
            "cpu": self._cpu,
            "wall": wall,
            "waited": self._watch.waited,
            "peak_memory": self._peak,
            "output_truncated": self._output.truncated,
            "detail": detail.removeprefix("; "),
        }
        with suppress(BrokenPipeError, ConnectionResetError):
            wire.send(self._run, report, bytes(self._output.kept), bytes(self._errors.kept))

    def _await_end(self) -> bool:
        """Wait until the solver's first process has ended, or there is a reason to end it.

        Return whether the outcome is wanted; it is not once Tailcut's process or the server has ended.
        """
        main = os.pidfd_open(self._main)
        streams = {stream.pipe: stream for stream in (self._output, self._errors)}
        poll = select.poll()
        for descriptor in (main, *streams, self._run.fileno(), *self._lifelines):
            poll.register(descriptor, select.POLLIN)
        while self._verdict is None:
            wait = min(self._watch.due() - time.monotonic(), _LONGEST_POLL)
            ready = {descriptor for descriptor, _ in poll.poll(max(wait, 0.0) * 1000)}
            if ready.intersection(self._lifelines):
                return False
            if self._run.fileno() in ready:
                if not self._is_cancelled():
                    return False
                self._verdict = Ending.CANCELLED
            if main in ready:
                break
            for descriptor in ready.intersection(streams):
                if streams[descriptor].take() == 0:
                    poll.unregister(descriptor)  # the solver has closed it
            if self._verdict is None and time.monotonic() >= self._watch.due():
                tree.reap(self._note, spare={self._main})
                self._verdict = self._watch.limit_reached()
        self._start_up.read()
        return True

    def _is_cancelled(self) -> bool:
        """Return whether Tailcut's process has cancelled the run, as opposed to closing its end."""
        try:
            return self._run.recv(1) == wire.CANCEL
        except ConnectionResetError:
            return False

    def _note(self, process: int, status: int, peak: int) -> None:
        self._peak_of_one = max(self._peak_of_one, peak)
        if process == self._main:
            self._status = status

    def _end_all(self) -> list[int]:
        """End every process of the run and return those that could not be ended."""

        def kill_all() -> None:
            if self._group is not None:
                cgroups.end_group(self._group.folder)
            tree.kill_below()  # a process may have moved itself to another group

        stuck = tree.end(kill_all, self._note)
        self._cpu = self._watch.cpu()
        seen = None if self._group is None else self._group.peak_memory()
        self._peak = max(self._watch.peak, self._largest() if seen is None else seen)
        self._out_of_memory = self._group is not None and self._group.ran_out_of_memory()
        if self._group is not None:
            self._group.remove()
        return stuck

    def _largest(self) -> int:
        """Return the peak of the run's largest process, 0 if it is not known.

        Until it becomes another program a forked process is a copy of this one, and counts as that large; it
        may have grown a little, in KiB, after it took its own measure.
        """
        peak = self._peak_of_one
        known = peak > self._start_up.resident + 2048 or "entry" in self._request
        return peak * 1024 if known else 0

    def _how(self) -> tuple[Ending, int | None, int | None, str]:
        """Return the ending, exit code, signal and detail, from how the solver's first process ended."""
        if self._start_up.failure:
            return Ending.CRASHED, None, None, self._start_up.failure
        if self._status is None:
            return self._verdict or Ending.CRASHED, None, None, ""
        if os.WIFEXITED(self._status):
            if not self._start_up.entered:
                return Ending.CRASHED, None, None, "could not be started, see its errors"
            return Ending.FINISHED, os.WEXITSTATUS(self._status), None, ""
        number = os.WTERMSIG(self._status)
        verdict = Ending.MEMORY_LIMIT if self._out_of_memory else self._verdict
        if number == signal.SIGKILL and verdict is not None:
            texts = {
                Ending.CPU_LIMIT: f"stopped at its limit of {self._limits.cpu} s CPU time",
                Ending.WALL_LIMIT: f"stopped at its limit of {self._limits.wall} s wall time",
                Ending.MEMORY_LIMIT: f"stopped at its limit of {self._limits.memory} bytes of memory",
            }
            return verdict, None, number, texts.get(verdict, "cancelled")
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return Ending.CRASHED, None, number, f"ended by {name}"
