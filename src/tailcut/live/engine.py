"""The engine: the one place where a run is started, stopped, waited for and accounted for.

A `ProgramJob` is a program of the portfolio with its limits. An executor starts it, on this machine
(`LocalProgramExecutor`) or on a cluster, and returns a `Run`. `solver_result` waits for the run of a solver
and returns its verified answer and the outcome to learn. Whatever waits for programs is a coroutine:
`run_all` drives many of them, and all state changes in the one thread of its event loop, so nothing needs a
lock.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import resource
import shutil
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from tailcut.domains.domain import AnswerRule, contradiction, read_answer
from tailcut.errors import InputError, LiveError
from tailcut.live.instances import FileContent, Instance
from tailcut.live.limits import Call, Command, Ended, Ending, Launcher, ResourceLimits
from tailcut.live.portfolio import Clock, ObjectiveRule, Portfolio, Program, Solver
from tailcut.types import Outcome

T = TypeVar("T")
Task = Callable[[], Coroutine[Any, Any, T]]

KEPT_OUTPUT = 64 * 2**20
"""Bytes kept of a program's output; a model of a million variables takes 8 million."""
_VERIFY_SECONDS = 300.0
"""Default seconds to verify an answer; they do not count."""
_GRACE = 5.0
"""Extra seconds of elapsed time for every run, to start on a busy machine."""
_SAMPLE = 200
"""Bytes kept of the output of a run without an answer."""
_LEAST = 1e-6
"""The censoring time of a run that never got a processor: 0 would mean that it never began."""


_FILES, _FILES_OF_RUN = 48, 8
"""Open files that everything else may need, and each run."""


def check_open_files(runs: int) -> None:
    """See to it that the process may open the files of so many runs at once; raise if it may not."""
    needed = _FILES + _FILES_OF_RUN * runs
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != most < needed:
        raise InputError(
            f"too many open files: {most} are allowed, and with {runs} at once {needed} are needed: "
            "raise the limit (`ulimit -n`)"
        )
    if resource.RLIM_INFINITY != allowed < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


class ProgramJob(NamedTuple):
    """A program to run within limits."""

    program: Command | Call
    limits: ResourceLimits
    keep_output: int = KEPT_OUTPUT
    instance: Path | None = None
    made: Path | None = None
    """A file created for this run only, passed to it by this path."""
    clock: Clock = Clock.CPU

    @property
    def budget(self) -> float:
        limit = self.limits.wall if self.clock is Clock.WALL else self.limits.cpu
        return math.inf if limit is None else limit

    def seconds(self, ended: Ended) -> float:
        return ended.wall if self.clock is Clock.WALL else ended.cpu

    def timed_out(self, ended: Ended) -> bool:
        """Return whether it was stopped at the limit of the clock that counts."""
        return ended.ending is (Ending.WALL_LIMIT if self.clock is Clock.WALL else Ending.CPU_LIMIT)


def _job(
    portfolio: Portfolio, program: Program, instance: Instance, seconds: float, **places: str
) -> ProgramJob:
    """Return the run of a program on an instance for so many seconds by the portfolio's clock."""
    if portfolio.clock is Clock.WALL:
        limits = ResourceLimits(wall=seconds, memory=program.memory)
    else:
        wall = seconds * portfolio.wall_factor + _GRACE
        limits = ResourceLimits(cpu=seconds, wall=wall, memory=program.memory)
    filled = program.filled(instance=str(instance.path), **places)
    return ProgramJob(filled, limits, instance=instance.path, clock=portfolio.clock)


def features_job(portfolio: Portfolio, program: Program, instance: Instance, most: float) -> ProgramJob:
    return _job(portfolio, program, instance, min(program.limit or math.inf, most))


def solver_job(
    portfolio: Portfolio, solver: Solver, instance: Instance, seconds: float, *, seed: int = 0
) -> ProgramJob:
    """Return a run of a solver; `seed` is that of the stream."""
    return _job(
        portfolio,
        solver.program,
        instance,
        seconds,
        cutoff=f"{seconds:g}",
        memory=str(solver.program.memory or 0),
        seed=str(run_seed(seed, instance.name, solver.name)),
    )


def run_seed(seed: int, instance: str, solver: str) -> int:
    """Return the seed of a solver's runs on an instance: from 0 to 2**31 - 1, the same every time.

    >>> run_seed(0, "a.cnf", "walk") == run_seed(0, "a.cnf", "walk") != run_seed(1, "a.cnf", "walk")
    True
    """
    text = f"{seed} {solver} {instance}".encode(errors="surrogateescape")
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


class Run(ABC):
    """One run of a job, which has been started."""

    def __init__(self, job: ProgramJob) -> None:
        self.job, self.stopped = job, False

    @abstractmethod
    async def wait(self) -> Ended:
        """Return how it ended; `job.seconds` says what it cost."""

    def stop(self) -> None:
        """End it early, if the executor can; `wait` returns what it did until then."""
        self.stopped = True


class _LocalRun(Run):
    def __init__(self, job: ProgramJob, launcher: Launcher) -> None:
        super().__init__(job)
        self._running = launcher.start(job.program, job.limits, keep_output=job.keep_output)

    def stop(self) -> None:
        super().stop()
        self._running.cancel()

    async def wait(self) -> Ended:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        descriptor = self._running.fileno()
        loop.add_reader(descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
        ended = self._running.wait()
        assert ended is not None
        if ended.ending is Ending.CANCELLED and not self.stopped:  # the executor was closed
            raise asyncio.CancelledError
        return ended


class ProgramExecutor(Protocol):
    """Where jobs run: this machine (`LocalProgramExecutor`) or a cluster (`DaskProgramExecutor`)."""

    @property
    def method(self) -> str:
        """How limits are enforced, in words."""

    def start(self, job: ProgramJob) -> Run:
        """Start a job."""

    def problems(self, programs: Mapping[str, Command | Call]) -> list[str]:
        """Return why some programs cannot be started there, a sentence each."""


class LocalProgramExecutor(AbstractContextManager["LocalProgramExecutor"]):
    """Runs jobs as processes of this machine; leaving the context ends those that still run."""

    def __init__(self, preload: Iterable[str] = (), modules: Path | None = None) -> None:
        if modules is not None and str(modules) not in sys.path:
            sys.path.append(str(modules))  # at the end: a file of the folder must not hide a module of ours
        self._launcher = Launcher(preload=tuple(preload))

    @classmethod
    def of(cls, portfolio: Portfolio) -> LocalProgramExecutor:
        """Return an executor for the programs of a portfolio; raise if something is not installed."""
        if portfolio.lacking:
            raise InputError(f"{portfolio.file}: {'; '.join(portfolio.lacking)}")
        return cls(portfolio.preload, portfolio.folder)

    @property
    def method(self) -> str:
        return self._launcher.method

    def start(self, job: ProgramJob) -> Run:
        return _LocalRun(job, self._launcher)

    def problems(self, programs: Mapping[str, Command | Call]) -> list[str]:
        return problems_of(programs)

    def close(self) -> None:
        self._launcher.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def check_runnable(portfolio: Portfolio, executor: ProgramExecutor | None) -> None:
    """Raise unless all programs can be started where they are to run; None: here."""
    tables: dict[str, Program | None] = {
        "features": portfolio.features,
        "verify": portfolio.verify,
        **{f"solvers.{name}": solver.program for name, solver in portfolio.solvers.items()},
    }
    programs = {name: program.filled() for name, program in tables.items() if program is not None}
    problems = problems_of(programs) if executor is None else executor.problems(programs)
    if problems:
        raise InputError(f"{portfolio.file}: {'; '.join(problems)}. Nothing was run")


def problems_of(programs: Mapping[str, Command | Call]) -> list[str]:
    return [f"{name}: {why}" for name, program in programs.items() if (why := why_not(program)) is not None]


def why_not(program: Command | Call) -> str | None:
    """Return why a program cannot be started here, None if it can.

    >>> why_not(Command(("sh", "-c", "exit 0"))) is None
    True
    >>> why_not(Command(("no-such-solver", "i1.cnf"))), why_not(Call("no_such_module:main"))
    ('there is no program no-such-solver', 'there is no module no_such_module')
    """
    if program.folder is not None and not program.folder.is_dir():
        return f"there is no folder {program.folder}, where the portfolio's programs run"
    if isinstance(program, Call):
        package = program.entry.partition(":")[0].partition(".")[0]  # importing nothing
        beside = [] if program.folder is None else [str(program.folder)]
        found = find_spec(package) or PathFinder.find_spec(package, [*sys.path, *beside])
        return f"there is no module {package}" if found is None else None
    name = program.argv[0]
    if "{" in name:  # a placeholder: the program depends on the instance
        return None
    path = (program.environment or {}).get("PATH")
    named = (program.folder or Path.cwd()) / name if "/" in name else None
    if shutil.which(name if named is None else named, path=path) is not None:
        return None
    if named is None or not named.exists():
        return f"there is no program {name}"
    return f"{name} is a folder" if named.is_dir() else f"{name} is not executable (chmod +x)"


def run_all(
    work: Iterator[Task[T]],
    *,
    at_once: int,
    on_result: Callable[[T], None],
    urgent: deque[Task[T]] | None = None,
) -> None:
    """Run all coroutines to their end, `at_once` at a time; what is added to `urgent` meanwhile comes first.

    `work` may block: the next item is taken in a separate thread, when there is room for it. An error of a
    coroutine or of `work` cancels the others. Coroutines and `on_result` run in the thread of the caller, or
    in another one if an event loop runs there already, as in a notebook.
    """
    to_do = _run_all(work, at_once, on_result, deque() if urgent is None else urgent)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(to_do)
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, to_do).result()


async def _run_all(
    work: Iterator[Task[T]], at_once: int, on_result: Callable[[T], None], urgent: deque[Task[T]]
) -> None:
    running: list[asyncio.Task[T]] = []
    upcoming: asyncio.Task[Task[T] | None] | None = None
    more = True
    try:
        while True:
            while urgent and len(running) < at_once:
                running.append(asyncio.create_task(urgent.popleft()()))
            if upcoming is not None and upcoming.done() and len(running) < at_once:
                begun, upcoming = upcoming.result(), None
                more = begun is not None
                if begun is not None:
                    running.append(asyncio.create_task(begun()))
            if more and upcoming is None and len(running) < at_once:
                upcoming = asyncio.create_task(_next(work))
            waiting: list[asyncio.Task[Any]] = [*running]
            if upcoming is not None and len(running) < at_once:
                waiting.append(upcoming)
            if not waiting:
                return
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                on_result(task.result())
    finally:
        await give_up([*running, *([] if upcoming is None else [upcoming])])


async def give_up(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _next(work: Iterator[T]) -> T | None:
    """Return the next item, taken in a separate thread, because that may block; None if there are no more."""
    future: Future[T | None] = Future()

    def take() -> None:
        try:
            future.set_result(next(work, None))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=take, daemon=True).start()  # must not keep the process alive: it may wait forever
    await done(future)
    return future.result()


async def done(future: Any) -> None:
    """Wait until a future of another thread, or of Dask, is done; it is left alone if this is cancelled."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(event.set)

    future.add_done_callback(wake)
    await event.wait()


class ComputedFeatures(NamedTuple):
    values: dict[str, float]
    """Finite, or nan where missing; empty if nothing is usable."""
    seconds: float
    problem: str | None
    timed_out: bool

    def body(self, instance: Instance) -> dict[str, Any]:
        plain = {name: None if math.isnan(value) else value for name, value in self.values.items()}
        content = FileContent.of(instance.path)._asdict()
        return {"instance": instance.name, **self._asdict(), "values": plain, "content": content}

    @staticmethod
    def read(body: Mapping[str, Any]) -> ComputedFeatures:
        values = {name: math.nan if value is None else value for name, value in body["values"].items()}
        return ComputedFeatures(values, body["seconds"], body["problem"], body["timed_out"])


async def computed_features(portfolio: Portfolio, run: Run) -> ComputedFeatures:
    ended = await run.wait()
    check_started(ended, f"{portfolio.file}: features")
    values, problem = read_features(ended)
    return ComputedFeatures(values, run.job.seconds(ended), problem, run.job.timed_out(ended))


def read_features(ended: Ended) -> tuple[dict[str, float], str | None]:
    """Return what a program printed as a JSON object, and the problem, if any."""
    if ended.ending is not Ending.FINISHED or ended.exit_code != 0:
        words = last_error_line(ended) or ended.detail or ended.ending
        return {}, f"features: {words} (exit code {ended.exit_code})"
    try:
        values = json.loads(ended.output, parse_int=float)  # an integer may have any number of digits
    except (ValueError, RecursionError) as error:
        return {}, f"features: not JSON of numbers: {error}"
    if not isinstance(values, dict) or "" in values:
        return {}, "features: the program must print one JSON object, name: number"
    if not values:
        return {}, "features: the program printed none"
    numbers = {name: math.nan if value is None else value for name, value in values.items()}
    wrong = [
        name for name, value in numbers.items() if not isinstance(value, bool | float) or math.isinf(value)
    ]
    more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    problem = f"features: no finite number, so missing: {', '.join(wrong[:5])}{more}" if wrong else None
    numbers.update(dict.fromkeys(wrong, math.nan))
    return {name: float(value) for name, value in numbers.items()}, problem


class RunResult(NamedTuple):
    outcome: Outcome
    note: dict[str, Any]
    output: bytes = b""
    truncated: bool = False


async def solver_result(
    place: ProgramExecutor, portfolio: Portfolio, solver: Solver, instance: Instance, run: Run
) -> RunResult:
    """Return the result of a run of `solver_job`; stopping the run does not stop verifying its answer."""
    job, ended = run.job, await run.wait()
    check_started(ended, f"{portfolio.file}: solvers.{solver.name}")
    answer, problem, refuted = await verified_answer(place, portfolio, solver, instance, ended)
    # A run that waited for a processor would have used its budget with that time; one that slept would not.
    stopped_early = job.clock is Clock.CPU and ended.ending is Ending.WALL_LIMIT
    starved = stopped_early and ended.cpu + ended.waited >= job.budget
    if starved:
        problem = (
            f"waited {ended.waited:.1f} s for a processor and was stopped by the wall-clock limit after "
            f"{ended.cpu:.2f} of {job.budget:g} s of CPU time: "
            "use fewer --jobs, a smaller --parallel, or a larger wall_factor"
        )
    note: dict[str, Any] = {
        "ending": str(ended.ending),
        "seconds": job.seconds(ended),
        "cpu": ended.cpu,
        "wall": ended.wall,
        "memory": ended.peak_memory,
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "answer": answer,
    }
    if refuted:
        note["refuted"] = True
    if ended.tampered:
        note["tampered"], problem = True, ended.detail
    if problem:
        note["problem"] = problem
    elif answer is None and ended.ending is Ending.FINISHED:
        printed = (ended.output[-_SAMPLE:] or ended.errors[-_SAMPLE:]).decode(errors="replace").strip()
        note["said"] = f"{printed or 'nothing'} (exit code {ended.exit_code})"
    objective = read_objective(solver.answers, answer, ended.output) if answer else None
    if objective is not None:
        note["objective"] = objective
    outcome = _outcome(job, ended, answered=answer is not None, starved=starved)
    return RunResult(outcome, note, ended.output, ended.output_truncated)


def _outcome(job: ProgramJob, ended: Ended, *, answered: bool, starved: bool) -> Outcome:
    """Return the outcome of a run, by how it ended, never by comparing times.

    A run that had to wait for a processor until the wall-clock limit, or was given up, is censored at the
    time it had. One that slept until that limit has failed: more time would not have helped.
    """
    if answered:
        return Outcome.solved(job.seconds(ended))
    if starved or ended.ending is Ending.CANCELLED:
        return Outcome.censored(max(job.seconds(ended), _LEAST))
    return Outcome.censored(job.budget) if job.timed_out(ended) else Outcome.failed()


def unmade_run(ending: str) -> RunResult:
    """Return the result of a run that was not made; one that was no longer needed teaches nothing."""
    outcome = Outcome.censored(_LEAST) if ending == Ending.CANCELLED else Outcome.failed()
    return RunResult(outcome, {"ending": ending, "seconds": 0.0, "answer": None})


class VerifiedAnswer(NamedTuple):
    """The accepted answer of a run, or None, and the problem with the run, if any."""

    answer: str | None
    problem: str | None = None
    refuted: bool = False
    """Whether it gave an answer that was refuted."""


async def verified_answer(
    place: ProgramExecutor, portfolio: Portfolio, solver: Solver, instance: Instance, ended: Ended
) -> VerifiedAnswer:
    """Return the answer of a run, verified by the portfolio's program if there is one."""
    answer = None
    if ended.ending is Ending.FINISHED:
        answer = read_answer(solver.answers, ended.exit_code, ended.output)
    if answer is None:
        return VerifiedAnswer(None, ended.detail if ended.ending is Ending.CRASHED else None)
    if not solver.may_give(answer):
        may = ", ".join(solver.gives or ())
        return VerifiedAnswer(None, f"answer {answer}: ignored, because it may only give {may}")
    both = contradiction(solver.answers, ended.exit_code, ended.output)
    if both is not None:
        return VerifiedAnswer(None, f"answer {answer} refuted: it says both {both}", refuted=True)
    program = portfolio.verify
    if program is None:
        return VerifiedAnswer(answer)
    if ended.output_truncated:
        return VerifiedAnswer(None, f"answer {answer}: its output is too long to be verified")
    with tempfile.TemporaryDirectory(prefix="tailcut-") as folder:
        output = Path(folder) / "answer.out"
        try:
            output.write_bytes(ended.output)
        except OSError as error:
            raise LiveError(
                f"{folder}: no room to verify an answer: {error.strerror}; completed "
                "work is kept: run the same command again"
            ) from None
        places = {"output": str(output), "answer": answer, "solver": solver.name}
        job = _job(portfolio, program, instance, program.limit or _VERIFY_SECONDS, **places)
        checked = await place.start(job._replace(made=output)).wait()
    check_started(checked, f"{portfolio.file}: verify")
    finished = checked.ending is Ending.FINISHED
    if finished and checked.exit_code == 0:
        return VerifiedAnswer(answer)
    words = last_error_line(checked) or checked.detail or checked.ending
    return VerifiedAnswer(None, f"answer {answer} refuted: {words}", refuted=finished)


def read_objective(rules: Sequence[AnswerRule], answer: str, output: bytes) -> float | None:
    r"""Return the number that the group `objective` of an answer's pattern finds; None if there is none.

    >>> import re
    >>> rule = AnswerRule("optimal", pattern=re.compile(rb"^obj = (?P<objective>\S+)", re.M))
    >>> read_objective([rule], "optimal", b"obj = -1.5e3\n")
    -1500.0
    """
    for rule in rules:
        if rule.answer == answer and rule.pattern is not None and "objective" in rule.pattern.groupindex:
            found = rule.pattern.search(output)
            try:
                value = float(found["objective"]) if found is not None else math.nan
            except (TypeError, ValueError):
                return None
            return value if math.isfinite(value) else None
    return None


def rated_run(rule: ObjectiveRule, instance: Instance, run: RunResult) -> RunResult:
    """Return a run rated by its last objective, however it ended; a refuted answer has a loss of 1."""
    value = None if run.note.get("refuted") else rule.last(run.output)
    loss = rule.loss(instance, value)
    note = {**run.note, "loss": loss}
    if run.truncated:
        note.setdefault("problem", "its output is too long: later objectives than those kept do not count")
    if value is not None:
        note["objective"] = value
        note["answer"] = note["answer"] or f"objective {value:.17g}"
    return run._replace(outcome=Outcome.rated(loss), note=note)


def check_started(ended: Ended, where: str) -> None:
    """Raise if a run could not be started: that is not an outcome of the solver."""
    if ended.ending is Ending.CRASHED and ended.signal is None and ended.exit_code is None and ended.detail:
        raise InputError(
            f"{where}: {ended.detail}; nothing was learned from that, and everything else is kept: "
            "fix it and run the same command again"
        )


def last_error_line(ended: Ended) -> str:
    lines = ended.errors.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
