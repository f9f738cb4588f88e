"""The deciders of ``tailcut solve``: a project in the state file, or one behind HTTP (`remote_decider`).

Both have the same interface. For each key a decision is made once, however often it is requested, and a known
outcome is not changed. So a call whose daemon was killed simply starts again from the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from tailcut.bench.plan import Contender
from tailcut.catalogue import BASELINES
from tailcut.errors import ConflictingOutcomeError, InputError
from tailcut.journal import Journal, Project
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, cutoff_of
from tailcut.live.racing import Runners
from tailcut.live.stream import PROJECT, StreamSettings, open_project, update_solvers
from tailcut.types import Decision, Outcome

USUAL_SELECTOR = "tailcut_schedule"
"""The default selector: a call is worth several tries if the first solver does not answer."""

Note = Mapping[str, Any]


class Arrival(NamedTuple):
    """An instance whose first run is to be decided."""

    name: str
    features: dict[str, float] | None
    feature_seconds: float
    cutoff: float
    key: str
    note: Note


class Decider(Protocol):
    """Decides and learns; if `waits`, it may block and runs in a separate thread."""

    waits: bool

    def feature_budget(self, cutoff: float) -> float:
        """Return how many seconds computing the features may take."""

    def cutoff(self, given: float | None) -> float:
        """Return the cutoff of an instance."""

    def select(self, arrival: Arrival) -> Decision:
        """Return the first run; the same key gives the same run."""

    def race(self, arrival: Arrival, runners: Runners) -> list[Decision]:
        """Return the runs that join a race; the same key gives the same runs."""

    def observe(self, decision: Decision, outcome: Outcome, note: Note) -> None:
        """Learn the outcome of a run, once."""

    def proceed(self, decision: Decision, spent: float) -> Decision | None:
        """Return the next run, or None; a repeated call returns the same."""

    def update(self, portfolio: Portfolio) -> None:
        """Choose among the solvers of a portfolio that has changed."""

    def check_selector(self, asked: str | None) -> None:
        """Raise `InputError` if a call asks for another selector than the one that chooses."""

    def close(self) -> None:
        """Save what was learned."""


class ProjectDecider:
    """Decides by a project in the state file: that of `tailcut run`, so that both learn together."""

    waits = False

    def __init__(self, state: str, portfolio: Portfolio, request: Mapping[str, Any]) -> None:
        self._journal = Journal(state)
        try:
            self._project = _own_project(self._journal, portfolio, request)
        except BaseException:
            self._journal.close()
            raise

    def feature_budget(self, cutoff: float) -> float:
        """Return the selector's feature budget."""
        return self._project.feature_budget(cutoff=cutoff)

    def cutoff(self, given: float | None) -> float:
        """Return the call's own cutoff, or that of the project."""
        return self._project.selector.cutoff if given is None else given

    def select(self, arrival: Arrival) -> Decision:
        """Return the first run; features that the project does not know are left out."""
        return self._project.select(
            self._known(arrival.features),
            instance=arrival.name,
            cutoff=arrival.cutoff,
            feature_cost=arrival.feature_seconds,
            key=arrival.key,
            note=arrival.note,
        )

    def race(self, arrival: Arrival, runners: Runners) -> list[Decision]:
        """Return the runs that join a race."""
        return self._project.race(
            self._known(arrival.features),
            k=runners.k,
            instance=arrival.name,
            cutoff=arrival.cutoff,
            spent=runners.spent,
            feature_cost=arrival.feature_seconds,
            running=runners.running,
            failed=runners.failed,
            key=arrival.key,
            note=arrival.note,
        )

    def _known(self, values: dict[str, float] | None) -> dict[str, float] | None:
        """Return the features that the project knows by their names; those that are absent are missing."""
        known = self._project.selector.feature_names
        if known is None or values is None:
            return values
        return {name: values.get(name, math.nan) for name in known}

    def observe(self, decision: Decision, outcome: Outcome, note: Note) -> None:
        """Learn the outcome of a run, unless it is known."""
        with suppress(ConflictingOutcomeError):  # it was run a second time, for a daemon that was killed
            self._project.observe(decision.id, outcome, note=note)

    def proceed(self, decision: Decision, spent: float) -> Decision | None:
        """Return the next run, or the one already decided."""
        return self._project.proceed_again(decision.id, spent=spent)[0]

    def update(self, portfolio: Portfolio) -> None:
        """Add and remove solvers."""
        update_solvers(self._project, list(portfolio.solvers), StreamObserver())

    def check_selector(self, asked: str | None) -> None:
        """Raise if the state file was created with another selector."""
        check_same_selector(str(self._journal.path), self._project.selector.name, asked)

    def close(self) -> None:
        """Write a snapshot, so that the next start has nothing to replay."""
        self._project.keep()
        self._journal.close()


def _own_project(journal: Journal, portfolio: Portfolio, request: Mapping[str, Any]) -> Project:
    """Return the project of a state file; an existing one keeps its selector, seed and cutoff."""
    if PROJECT in journal.projects():
        project = Project(journal, PROJECT)
        update_solvers(project, list(portfolio.solvers), StreamObserver())
        return project
    return open_project(journal, portfolio, new_settings(portfolio, request), StreamObserver())


def check_same_selector(where: str, selector: str, asked: str | None) -> None:
    """Raise if a call asks for another selector than the project has that it learns in."""
    if asked is not None and _contender(asked).selector != selector:
        raise InputError(
            f"{where} was created with selector {selector}, not {_contender(asked).selector}: use that, or "
            "give another one"
        )


def new_settings(portfolio: Portfolio, request: Mapping[str, Any]) -> StreamSettings:
    """Return the description of a new project, from the call or else from the portfolio."""
    contender = _contender(request["selector"] or portfolio.selector or USUAL_SELECTOR)
    cutoff = cutoff_of(portfolio, request["cutoff"])
    return StreamSettings(contender.selector, cutoff, request["seed"], dict(contender.hyperparameters))


def _contender(text: str) -> Contender:
    contender = Contender.parse(text)
    if contender.selector in BASELINES:
        raise InputError(f"{contender.selector} is a hindsight baseline: it cannot choose")
    return contender
