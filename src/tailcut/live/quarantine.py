"""Quarantine: solvers that do not work at all, or gave wrong answers; and second opinions on answers.

A solver in quarantine is removed from the selector, and a remark in the journal says why. One that did not
work is used again as soon as it is fixed. One is caught on an instance if the portfolio's `[verify]` program
refutes its answer, or if a majority of at least two solvers agrees on another.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tailcut.domains.domain import read_answer
from tailcut.errors import InputError, LiveError
from tailcut.journal import Event, EventKind, Project
from tailcut.live.engine import ProgramExecutor, solver_job
from tailcut.live.instance_record import InstanceRecord, RunRecord, said
from tailcut.live.instances import Instance
from tailcut.live.limits import Ending
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import SECONDS_ON_TINY, Portfolio, Solver

CAUGHT = 2
"""A solver caught on this many instances is put in quarantine."""
FIRST_RUNS = 5
"""A solver that never answered is put in quarantine after breaking down on this many instances; any solver,
after it stopped or killed the process that watched it on as many."""
_GAVE_UP = re.compile(r"unknown|unsupported|not supported|time.?out|time limit|indeterminate", re.IGNORECASE)
"""What working solvers print when they cannot handle an instance."""


class QuarantinedSolver(NamedTuple):
    solver: str
    reason: str
    """`broken`: it crashed or printed nothing readable on every instance, or stopped or killed the process
    that watched it; else `caught`."""
    words: str
    signature: str
    """Its fingerprint: if this changes, the solver may have been fixed."""

    def __str__(self) -> str:
        way_back = "fix it and" if self.reason == "broken" else "to use it again,"
        return f"{self.solver} is set aside: {self.words}; {way_back} run again with --trust {self.solver}"


def read_quarantine(history: Iterable[Event]) -> dict[str, QuarantinedSolver]:
    found: dict[str, QuarantinedSolver] = {}
    for event in history:
        if event.kind is EventKind.REMARK and "aside" in event.body:
            found[event.body["aside"]["solver"]] = QuarantinedSolver(**event.body["aside"])
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


class Quarantine:
    """Tracks which solvers of a stream do not work or were caught, and which answers need another opinion."""

    def __init__(
        self,
        portfolio: Portfolio,
        project: Project,
        observers: Sequence[StreamObserver],
        records: Iterable[InstanceRecord],
        *,
        share: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Begin with what a journal says; `share` is that of the answers which need a second opinion."""
        self._portfolio, self._project, self._observers = portfolio, project, observers
        self._share, self._seed = share, seed
        self._solvers = read_quarantine(project.history())
        self._working: set[str] = set()
        """Those that have answered, even if only a tiny instance."""
        self._tried_tiny: set[str] = set()
        self._broken: dict[str, dict[str, RunRecord]] = {}
        """Solver -> instance -> a run that broke down there."""
        self._tampered: dict[str, set[str]] = {}
        """Solver -> instances on which it stopped or killed the process that watched it."""
        self._caught: dict[str, set[str]] = {}
        self._suspects: set[str] = set()
        self._answered: Counter[str] = Counter()
        """How many instances each solver had answered before."""
        for record in records:
            for run in record.all_runs:
                if run["solver"] not in record.void:
                    self._count(record.instance, run)
            self._answered.update({run["solver"] for run in record.all_runs if run["answer"] is not None})
            self._judge(record)

    def __contains__(self, solver: str) -> bool:
        return solver in self._solvers

    def _count(self, instance: str, run: RunRecord) -> None:
        if run.get("tampered"):
            self._tampered.setdefault(run["solver"], set()).add(instance)
        if run["answer"] is not None:
            self._working.add(run["solver"])
        elif is_broken_run(run):
            self._broken.setdefault(run["solver"], {})[instance] = run

    def _judge(self, record: InstanceRecord) -> list[str]:
        """Return the solvers that had not been caught on this instance before."""
        verdict = record.verdict
        self._suspects |= verdict.involved - record.forgiven
        refuted = {run["solver"] for run in record.all_runs if run.get("refuted")}
        wrong = sorted((verdict.wrong | refuted) - record.forgiven)
        new = [solver for solver in wrong if record.instance not in self._caught.setdefault(solver, set())]
        for solver in new:
            self._caught[solver].add(record.instance)
        return new

    async def ended(self, record: InstanceRecord, run: RunRecord, place: ProgramExecutor) -> None:
        """Judge a run that ended: its solver may never have worked, and solvers may have been caught."""
        await self._find_broken(record, run, place)
        for solver in self._judge(record):
            times = len(self._caught[solver])
            if times >= CAUGHT and solver in self._portfolio.solvers and solver not in self:
                runs = said(record.all_runs) or "refuted"
                words = f"its answer was wrong on {times} instances, the last time on {record.instance}"
                self._add(solver, "caught", f"{words} ({runs})")

    async def _find_broken(self, record: InstanceRecord, run: RunRecord, place: ProgramExecutor) -> None:
        """Put a solver in quarantine if it never worked, not even on a tiny instance, or often tampered."""
        solver = run["solver"]
        self._count(record.instance, run)
        broken, tampered = self._broken.get(solver, {}), self._tampered.get(solver, set())
        if solver in self or solver not in self._portfolio.solvers:
            return
        if run.get("tampered") and len(tampered) >= FIRST_RUNS:
            record.void.add(solver)
            where = f"on {len(tampered)} instances, the last time on {record.instance}"
            self._add(solver, "broken", f"the process that watched it was stopped or killed {where}")
            return
        if solver in self._working | self._tried_tiny or len(broken) < FIRST_RUNS or not is_broken_run(run):
            return
        self._tried_tiny.add(solver)  # before it is tried, because other runs may end in the meantime
        if await self._answers_tiny(self._portfolio.solvers[solver], place):
            self._working.add(solver)
            return
        last = run.get("said") or run.get("problem") or run["ending"]
        words = f"it broke down on all of its first {len(broken)} instances; on the last one: {last}"
        record.void.add(solver)
        self._add(solver, "broken", words)

    async def _answers_tiny(self, solver: Solver, place: ProgramExecutor) -> bool:
        for tiny in self._portfolio.check:
            job = solver_job(self._portfolio, solver, Instance(tiny.path.name, tiny.path), SECONDS_ON_TINY)
            # it is sent along with the program
            ended = await place.start(job._replace(instance=None, made=tiny.path)).wait()
            if read_answer(solver.answers, ended.exit_code, ended.output) is not None:
                return True
        return False

    def _add(self, solver: str, reason: str, words: str) -> None:
        quarantined = QuarantinedSolver(solver, reason, words, signature(self._portfolio.solvers[solver]))
        self._solvers[solver] = quarantined
        self._project.remark({"aside": quarantined._asdict()})
        for observer in self._observers:
            observer.solver_quarantined(solver, str(quarantined))
        if len(self._project.selector.algorithms) == 1:
            raise LiveError(
                f"{self._portfolio.file}: no solver is left: {quarantined}; completed work is kept"
            )
        self._project.remove_algorithm(solver)

    def next_to_ask(self, record: InstanceRecord) -> str | None:
        """Return the solver to ask for a second opinion; None if none is needed or left."""
        if not self._share or record.answering is None:
            return None
        verdict = record.verdict
        wanted = verdict.is_open or (not verdict.involved and not record.extra and self._is_checked(record))
        # A solver that lost a race was stopped and may still be asked.
        ran = {run["solver"] for run in record.all_runs if run["ending"] != str(Ending.CANCELLED)}
        left = [name for name in self._portfolio.solvers if name not in ran and name not in self]
        if not wanted or not left:
            return None
        answer = record.answering["answer"] or ""

        def rank(name: str) -> tuple[bool, int]:
            return self._portfolio.solvers[name].may_give(answer), self._answered[name]

        return max(left, key=rank)

    def _is_checked(self, record: InstanceRecord) -> bool:
        assert record.answering is not None
        text = f"{self._seed} second opinion {record.instance}".encode(errors="surrogateescape")
        drawn = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2.0**64
        return drawn < self._share or record.answering["solver"] in self._suspects


def still_quarantined(
    portfolio: Portfolio, project: Project, trusted: Collection[str], observer: StreamObserver
) -> dict[str, QuarantinedSolver]:
    """Return which solvers stay in quarantine at the start: not those fixed or trusted again."""
    unknown = [name for name in trusted if name not in portfolio.solvers]
    if unknown:
        raise InputError(f"{portfolio.file}: there is no solver {unknown[0]} to trust")
    remarks = project.journal.page(project.number, newest_first=False, kinds=[EventKind.REMARK], limit=-1)
    quarantine = read_quarantine(remarks)
    for solver, one in list(quarantine.items()):
        known = portfolio.solvers.get(solver)
        mended = one.reason == "broken" and known is not None and signature(known) != one.signature
        if known is not None and (mended or solver in trusted):
            project.remark({"back": solver})
            del quarantine[solver]
        elif known is not None:
            observer.solver_quarantined(solver, str(one))
    if quarantine and not set(portfolio.solvers) - set(quarantine):
        raise InputError(f"{portfolio.file}: no solver is left: {'; '.join(map(str, quarantine.values()))}")
    return quarantine
