"""Deciding for ``tailcut solve`` by a project behind HTTP, which many machines may share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from tailcut.errors import InputError, ServiceError
from tailcut.live.portfolio import Portfolio
from tailcut.live.racing import Runners
from tailcut.live.stream import DEFAULT
from tailcut.service.client import Client, RemoteProject
from tailcut.solve.deciders import Arrival, Note, check_same_selector, new_settings
from tailcut.types import Decision, Outcome


class RemoteDecider:
    """Decides by a project behind HTTP, created if missing."""

    waits = True

    def __init__(self, portfolio: Portfolio, request: Mapping[str, Any]) -> None:
        if not request["token"]:
            raise InputError(
                "--server needs a token that may write: set the environment variable TAILCUT_TOKEN"
            )
        self._where = f"the project {request['project']} of {request['server']}"
        self._client = Client(request["server"], request["token"])
        self._project = _remote_project(self._client, portfolio, request)
        self._info = self._project.info()
        self.update(portfolio)

    def feature_budget(self, cutoff: float) -> float:
        """Return the selector's feature budget."""
        return self._project.feature_budget(cutoff=cutoff)

    def cutoff(self, given: float | None) -> float:
        """Return the call's own cutoff, or that of the project."""
        return float(self._info["cutoff"]) if given is None else given

    def select(self, arrival: Arrival) -> Decision:
        """Return the first run; features that the project does not know are left out."""
        return self._project.select(
            self._known(arrival.features),
            instance=arrival.name,
            cutoff=arrival.cutoff,
            feature_cost=arrival.feature_seconds,
            key=arrival.key,
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
        )

    def _known(self, values: dict[str, float] | None) -> dict[str, float] | None:
        """Return the features that the project knows by their names; those that are absent are missing."""
        if values is None:
            return None
        if self._info["feature_names"] is None:
            self._info = self._project.info()
        known = self._info["feature_names"]
        return values if known is None else {name: values.get(name, math.nan) for name in known}

    def observe(self, decision: Decision, outcome: Outcome, note: Note) -> None:  # noqa: ARG002
        """Learn the outcome of a run, unless it is known."""
        try:
            self._project.observe(decision.id, outcome)
        except ServiceError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    def proceed(self, decision: Decision, spent: float) -> Decision | None:
        """Return the next run, or the one already decided."""
        return self._project.proceed(decision.id, spent=spent)

    def update(self, portfolio: Portfolio) -> None:
        """Add solvers that the server's project lacks; remove none, because other machines may have them."""
        known = set(self._info["algorithms"])
        for name in portfolio.solvers:
            if name not in known:
                self._project.add_algorithm(name)
        self._info = self._project.info()

    def check_selector(self, asked: str | None) -> None:
        """Raise if the server's project was created with another selector."""
        check_same_selector(self._where, self._info["selector"], asked)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _remote_project(client: Client, portfolio: Portfolio, request: Mapping[str, Any]) -> RemoteProject:
    name = request["project"]
    if name in (one["name"] for one in client.projects()):
        return client.project(name)
    settings = new_settings(portfolio, request)
    return client.create_project(
        name,
        algorithms=list(portfolio.solvers),
        cutoff=settings.cutoff,
        selector=settings.selector or DEFAULT,
        seed=settings.seed,
        hyperparameters=dict(settings.hyperparameters),
    )
