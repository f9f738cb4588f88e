"""Trust: second opinions on answers, and solvers that gave wrong ones.

A solver is caught on an instance if the portfolio's `[verify]` program refutes its answer, or if a majority
of at least two solvers agrees on another. A solver caught on two instances is set aside until the user trusts
it again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailcut.live.aside import AsideReason, AsideSolvers
from tailcut.live.belief import said
from tailcut.live.instance_record import InstanceRecord
from tailcut.live.limits import Ending
from tailcut.live.portfolio import Portfolio

if TYPE_CHECKING:
    from tailcut.live.engine import Engine
    from tailcut.live.instances import Instance
    from tailcut.live.workflows import Workflow

CAUGHT = 2
"""A solver caught on this many instances is set aside."""


class Trust:
    """Tracks which solvers were caught, and decides which answers need a second opinion."""

    def __init__(
        self, portfolio: Portfolio, aside: AsideSolvers, *, share: float = 0.0, seed: int = 0
    ) -> None:
        self._portfolio, self._aside, self._share, self._seed = portfolio, aside, share, seed
        self._caught: dict[str, set[str]] = {}
        """Solver -> instances on which its answer was wrong."""
        self._suspects: dict[str, set[str]] = {}
        """Solver -> instances on which it contradicted another."""
        self._answered: Counter[str] = Counter()

    def take(self, records: Iterable[InstanceRecord]) -> None:
        """Read earlier runs."""
        for record in records:
            self._answered.update(set(record.answers))
            self._judge(record)

    def ended(self, record: InstanceRecord) -> None:
        """Judge an instance again after a run, and set aside solvers that were caught too often."""
        before = {solver: len(on) for solver, on in self._caught.items()}
        self._judge(record)
        for solver, on in list(self._caught.items()):
            known = solver in self._portfolio.solvers and solver not in self._aside
            if known and len(on) >= CAUGHT and len(on) > before.get(solver, 0):
                runs = said(record.all_runs) or "refuted"
                words = f"its answer was wrong on {len(on)} instances, the last time on {record.instance}"
                self._aside.put(solver, AsideReason.CAUGHT, f"{words} ({runs})")

    def _judge(self, record: InstanceRecord) -> None:
        found = record.verdict
        refuted = {run["solver"] for run in record.all_runs if run.get("refuted")}
        for solver in (found.wrong | refuted) - record.forgiven:
            self._caught.setdefault(solver, set()).add(record.instance)
        for solver in found.involved - record.forgiven:
            self._suspects.setdefault(solver, set()).add(record.instance)

    def next_to_ask(self, record: InstanceRecord) -> str | None:
        """Return the solver to ask for a second opinion; None if none is needed or left."""
        if not self._share or record.answering is None:
            return None
        found = record.verdict
        wanted = found.is_open or (not found.involved and not record.extra and self._is_checked(record))
        # A solver that lost a race was stopped and may still be asked.
        ran = {run["solver"] for run in record.all_runs if run["ending"] != str(Ending.CANCELLED)}
        left = [name for name in self._portfolio.solvers if name not in ran and name not in self._aside]
        if not wanted or not left:
            return None
        answer = record.answering["answer"] or ""

        def rank(name: str) -> tuple[bool, int]:
            return self._portfolio.solvers[name].may_give(answer), self._answered[name]

        return max(left, key=rank)

    def _is_checked(self, record: InstanceRecord) -> bool:
        """Return whether an answer is in the sample, or from a solver that contradicted another before."""
        assert record.answering is not None
        text = f"{self._seed} second opinion {record.instance}".encode(errors="surrogateescape")
        drawn = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2.0**64
        return drawn < self._share or record.answering["solver"] in self._suspects

    def opinions(self, engine: Engine, instance: Instance, record: InstanceRecord) -> Workflow[None]:
        """Ask another solver for its opinion if needed, and continue while there is a tie."""
        while (name := self.next_to_ask(record)) is not None:
            budget = engine.cutoff if record.cutoff is None else record.cutoff
            yield from engine.run_besides(self._portfolio.solvers[name], instance, record, budget)


def contradictions_in(records: Iterable[InstanceRecord]) -> list[str]:
    """Return where solvers contradict each other, a sentence each."""
    return [f"{one.instance}: {said(one.all_runs)}" for one in records if one.verdict.involved]
