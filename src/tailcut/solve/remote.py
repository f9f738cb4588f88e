"""``tailcut solve`` with a project behind HTTP, which many machines may share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from tailcut.catalogue import DEFAULT_SELECTOR
from tailcut.errors import InputError, ServiceError
from tailcut.live.portfolio import Portfolio
from tailcut.live.serving import Decider
from tailcut.service.client import Client, RemoteProject
from tailcut.solve.solving import check_same_selector, new_settings
from tailcut.types import Decision, Outcome

if TYPE_CHECKING:
    from tailcut.journal import Project


class ServerProject:
    """A project behind HTTP, created if missing."""

    def __init__(self, portfolio: Portfolio, request: Mapping[str, Any]) -> None:
        if not request["token"]:
            raise InputError(
                "--server needs a token that may write: set the environment variable TAILCUT_TOKEN"
            )
        self._where = f"the project {request['project']} of {request['server']}"
        self._client = Client(request["server"], request["token"])
        self.project = _remote_project(self._client, portfolio, request)
        self.info = self.project.info()
        self.update(portfolio)

    def decider(self, key: str, problems: list[str]) -> _RemoteDecider:
        return _RemoteDecider(self, key, problems)

    def cutoff(self, given: float | None) -> float:
        return float(self.info["cutoff"]) if given is None else given

    def update(self, portfolio: Portfolio) -> None:
        """Add solvers that the server's project lacks; remove none, because other machines may have them."""
        known = set(self.info["algorithms"])
        for name in portfolio.solvers:
            if name not in known:
                self.project.add_algorithm(name)
        self.info = self.project.info()

    def check_selector(self, given: str | None) -> None:
        check_same_selector(self._where, self.info["selector"], given)

    def close(self) -> None:
        self._client.close()


class _RemoteDecider(Decider):
    """Decides for one call; the server stores no notes."""

    waits = True

    def __init__(self, shared: ServerProject, key: str, problems: list[str]) -> None:
        project = cast("Project", shared.project)  # it has the methods that are called here
        # the server says when no run follows
        super().__init__(project, shared.info["selector"], schedules=True, key=key)
        self._shared, self._problems, self._answered = shared, problems, False

    def feature_names(self) -> Sequence[str] | None:
        if self._shared.info["feature_names"] is None:  # they are known after the first decision
            self._shared.info = self._shared.project.info()
        names: list[str] | None = self._shared.info["feature_names"]
        return names

    def may_skip_features(self) -> bool:
        return True  # the server refuses what it cannot do

    def select(self, features: Mapping[str, float] | None, **request: Any) -> Decision:
        del request["note"]
        return super().select(features, **request)

    def race(self, features: Mapping[str, float] | None, **request: Any) -> list[Decision]:
        del request["note"]
        return super().race(features, **request)

    def observe(self, decision: int, outcome: Outcome, note: Mapping[str, Any]) -> None:
        self._answered = self._answered or note["answer"] is not None
        try:
            self.project.observe(decision, outcome)
        except ServiceError as error:
            if error.status == HTTPStatus.CONFLICT:  # it was run a second time, for a daemon that was killed
                return
            if not self._answered:
                raise
            self._problems.append(f"the answer stands, but nothing was learned from it: {error}")

    def proceed(self, decision: int, spent: float) -> Decision | None:
        return self.project.proceed(decision, spent=spent)

    def remark(self, body: Mapping[str, Any]) -> None:
        pass


def _remote_project(client: Client, portfolio: Portfolio, request: Mapping[str, Any]) -> RemoteProject:
    name = request["project"]
    if name in (one["name"] for one in client.projects()):
        return client.project(name)
    settings = new_settings(portfolio, request)
    return client.create_project(
        name,
        algorithms=list(portfolio.solvers),
        cutoff=settings.cutoff,
        selector=settings.selector or DEFAULT_SELECTOR,
        seed=settings.seed,
        hyperparameters=dict(settings.hyperparameters),
    )
