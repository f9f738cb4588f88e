"""Solvers set aside: those that do not work at all, and those that gave wrong answers.

A solver that is set aside is removed from the selector, which forgets what it learned about it, and a remark
in the journal says why. A solver that did not work is used again as soon as it is fixed, and instances that
it left unsolved are run again. A solver that gave wrong answers is used again when the user says so.
"""

from __future__ import annotations

import enum
import hashlib
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.domains.domain import read_answer
from tailcut.errors import InputError, LiveError
from tailcut.journal import Event, EventKind, Project
from tailcut.live.instance_record import InstanceRecord, RunRecord
from tailcut.live.instances import Instance
from tailcut.live.jobs import solver_job
from tailcut.live.limits import Ending
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, Solver
from tailcut.live.workflows import Workflow

FIRST_RUNS = 5
"""A solver that never answered is set aside after breaking down on this many instances."""
TINY_SECONDS = 5.0
"""Seconds for such a solver on a tiny instance, before it is set aside."""
_GAVE_UP = re.compile(r"unknown|unsupported|not supported|time.?out|time limit|indeterminate", re.IGNORECASE)
"""What working solvers print when they cannot handle an instance."""


class AsideReason(enum.StrEnum):
    """Why a solver was set aside."""

    BROKEN = "broken"
    """It crashed, or printed nothing that could be read, on every instance."""
    CAUGHT = "caught"
    """It gave wrong answers."""


class SetAside(NamedTuple):
    """A solver that was set aside."""

    solver: str
    reason: AsideReason
    words: str
    """What it did."""
    signature: str
    """Its fingerprint: if this changes, the solver may have been fixed."""

    def __str__(self) -> str:
        way_back = "fix it and" if self.reason is AsideReason.BROKEN else "to use it again,"
        return f"{self.solver} is set aside: {self.words}; {way_back} run again with --trust {self.solver}"


def read_aside(history: Iterable[Event]) -> dict[str, SetAside]:
    """Return the solvers that are set aside according to a journal."""
    found: dict[str, SetAside] = {}
    for event in history:
        if event.kind is EventKind.REMARK and "aside" in event.body:
            body: dict[str, Any] = event.body["aside"]
            found[body["solver"]] = SetAside(**{**body, "reason": AsideReason(body["reason"])})
        elif event.kind is EventKind.REMARK and "back" in event.body:
            found.pop(event.body["back"], None)
    return found


def signature(solver: Solver) -> str:
    """Return a solver's fingerprint: its table, and the files that its command names."""
    program = solver.program
    folder = program.folder or Path.cwd()
    words = [word for word in program.template if "{" not in word]
    if program.entry is not None:
        words.append(program.entry.partition(":")[0].replace(".", "/") + ".py")
    elif words:
        words.append(shutil.which(words[0]) or "")
    files = [(word, _state(folder / word)) for word in words if word]
    described = repr((solver, files))
    return hashlib.sha256(described.encode(errors="surrogateescape")).hexdigest()


def _state(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_mode) if file.is_file() else None


def is_broken_run(run: RunRecord) -> bool:
    """Return whether a run ended by itself without readable output: it crashed or printed something else.

    >>> run = {"solver": "a", "budget": 9.0, "seconds": 0.1, "answer": None, "ending": "finished"}
    >>> [is_broken_run({**run, "said": said}) for said in ("usage: a FILE", "s UNKNOWN (exit code 0)")]
    [True, False]
    >>> is_broken_run({**run, "ending": "crashed"}), is_broken_run({**run, "ending": "cpu limit"})
    (True, False)
    """
    if run["answer"] is not None:
        return False
    unreadable = run["ending"] == str(Ending.FINISHED) and "said" in run
    return run["ending"] == str(Ending.CRASHED) or (unreadable and not _GAVE_UP.search(run["said"]))


class AsideSolvers:
    """Tracks which solvers of a stream are set aside, and finds those that do not work."""

    def __init__(
        self,
        portfolio: Portfolio,
        project: Project,
        aside: Mapping[str, SetAside],
        observers: Sequence[StreamObserver],
    ) -> None:
        self._portfolio, self._project, self._observers = portfolio, project, observers
        self._aside = dict(aside)
        self._working: set[str] = set()
        """Those that have answered, even if only a tiny instance."""
        self._tried_tiny: set[str] = set()
        self._broken: dict[str, dict[str, RunRecord]] = {}
        """Solver -> instance -> a run that broke down there."""

    def __contains__(self, solver: str) -> bool:
        return solver in self._aside

    def take(self, records: Iterable[InstanceRecord]) -> None:
        """Read earlier runs."""
        for record in records:
            for run in (*record.runs, *record.extra.values()):
                if run["solver"] not in record.void:
                    self._count(record.instance, run)

    def _count(self, instance: str, run: RunRecord) -> None:
        if run["answer"] is not None:
            self._working.add(run["solver"])
        elif is_broken_run(run):
            self._broken.setdefault(run["solver"], {})[instance] = run

    def ended(self, record: InstanceRecord, run: RunRecord) -> Workflow[None]:
        """Read a run that ended; set its solver aside if it never worked, not even on a tiny instance."""
        solver = run["solver"]
        self._count(record.instance, run)
        if solver in self._working or solver in self._aside or solver not in self._portfolio.solvers:
            return
        broken = self._broken.get(solver, {})
        if len(broken) < FIRST_RUNS or not is_broken_run(run):
            return
        if solver in self._tried_tiny:
            return
        self._tried_tiny.add(solver)  # before it is tried, because other runs may end in the meantime
        if (yield from self._answers_tiny(self._portfolio.solvers[solver])):
            self._working.add(solver)
            return
        said = run.get("said") or run.get("problem") or run["ending"]
        words = f"it broke down on all of its first {len(broken)} instances; on the last one: {said}"
        record.void.add(solver)
        self.put(solver, AsideReason.BROKEN, words)

    def _answers_tiny(self, solver: Solver) -> Workflow[bool]:
        """Return whether a solver answers one of the tiny instances that portfolios are checked with."""
        for tiny in self._portfolio.check:
            job = solver_job(self._portfolio, solver, Instance(tiny.path.name, tiny.path), TINY_SECONDS)
            ended = yield job._replace(instance=None, made=tiny.path)  # it is sent along with the program
            if read_answer(solver.answers, ended.exit_code, ended.output) is not None:
                return True
        return False

    def put(self, solver: str, reason: AsideReason, words: str) -> None:
        """Set a solver aside and report it."""
        one = SetAside(solver, reason, words, signature(self._portfolio.solvers[solver]))
        self._aside[solver] = one
        self._project.remark({"aside": one._asdict()})
        for observer in self._observers:
            observer.solver_put_aside(solver, str(one))
        if len(self._project.selector.algorithms) == 1:
            raise LiveError(f"{self._portfolio.file}: no solver is left: {one}; completed work is kept")
        self._project.remove_algorithm(solver)


def still_aside(
    portfolio: Portfolio, project: Project, trusted: Collection[str], observer: StreamObserver
) -> dict[str, SetAside]:
    """Return which solvers stay set aside at the start: not those fixed or trusted again."""
    unknown = [name for name in trusted if name not in portfolio.solvers]
    if unknown:
        raise InputError(f"{portfolio.file}: there is no solver {unknown[0]} to trust")
    aside = read_aside(project.history())
    for solver, one in list(aside.items()):
        known = portfolio.solvers.get(solver)
        mended = one.reason is AsideReason.BROKEN and known is not None and signature(known) != one.signature
        if known is not None and (mended or solver in trusted):
            project.remark({"back": solver})
            del aside[solver]
        elif known is not None:
            observer.solver_put_aside(solver, str(one))
    if aside and not set(portfolio.solvers) - set(aside):
        raise InputError(f"{portfolio.file}: no solver is left: {'; '.join(map(str, aside.values()))}")
    return aside
