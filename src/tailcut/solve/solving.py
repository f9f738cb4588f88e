"""One call of ``tailcut solve``: the project that decides, and what the caller sees.

The instance is served as those of a stream are (`tailcut.live.serving`), in the daemon's event loop.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from tailcut.catalogue import DEFAULT_SELECTOR, parse_selector, recipe
from tailcut.domains.domain import EXIT_CODE_0_SOLVES
from tailcut.errors import InputError, ServiceError
from tailcut.journal import Journal, Project
from tailcut.live.engine import ProgramExecutor, RunResult
from tailcut.live.instance_record import PROJECT, InstanceRecord
from tailcut.live.instances import FileContent, Instance
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio
from tailcut.live.serving import Decider, Serving
from tailcut.live.stream import StreamSettings, open_project, update_solvers
from tailcut.types import Decision, Outcome

COMPETITION_CODES = {"SATISFIABLE": 10, "UNSATISFIABLE": 20, "OPTIMUM FOUND": 30}
"""Answer -> exit code in the competitions of SAT, MaxSAT and pseudo-Boolean solvers. Tools rely on it, so it
also applies to solvers that give their answer only in their output."""
NO_ANSWER = 1
"""Exit code without an answer, if 0 would mean that there is one."""


class StateProject:
    """The project of `tailcut run` in the state file, so that both learn together."""

    def __init__(self, state: str, portfolio: Portfolio, request: Mapping[str, Any]) -> None:
        self._journal = Journal(state)
        try:
            if PROJECT in self._journal.projects():  # it keeps its selector, seed and cutoff
                self._project = Project(self._journal, PROJECT)
                self.update(portfolio)
            else:
                settings = _settings(portfolio, request)
                self._project = open_project(self._journal, portfolio, settings, StreamObserver())
        except BaseException:
            self._journal.close()
            raise
        selector = self._project.selector
        self.where, self.selector, self.usual_cutoff = str(self._journal.path), selector.name, selector.cutoff
        self.usual_seed = self._project.description["seed"]

    def decider(self, key: str) -> Decider:
        return Decider.of(self._project, key)

    def update(self, portfolio: Portfolio) -> None:
        update_solvers(self._project, portfolio, StreamObserver())

    def close(self) -> None:
        self._project.keep()  # so that the next start has nothing to replay
        self._journal.close()


class ServerProject:
    """A project behind HTTP, which many machines may share; created if missing."""

    def __init__(self, portfolio: Portfolio, request: Mapping[str, Any]) -> None:
        if not request["token"]:
            raise InputError(
                "--server needs a token that may write: set the environment variable TAILCUT_TOKEN"
            )
        from tailcut.service.client import Client  # only calls with a server need it

        self.where = f"the project {request['project']} of {request['server']}"
        self._client = Client(request["server"], request["token"])
        name = request["project"]
        if name in (one["name"] for one in self._client.projects()):
            self.project = self._client.project(name)
        else:
            settings = _settings(portfolio, request)
            self.project = self._client.create_project(
                name,
                algorithms=list(portfolio.solvers),
                cutoff=settings.cutoff,
                selector=settings.selector or DEFAULT_SELECTOR,
                seed=settings.seed,
                hyperparameters=dict(settings.hyperparameters),
            )
        self.info = self.project.info()
        self.selector, self.usual_cutoff = self.info["selector"], float(self.info["cutoff"])
        self.usual_seed = self.info["seed"]
        self.update(portfolio)

    def decider(self, key: str) -> Decider:
        return _RemoteDecider(self, key)

    def update(self, portfolio: Portfolio) -> None:
        """Add solvers that the server's project lacks; remove none, because other machines may have them."""
        known = set(self.info["algorithms"])
        for name in portfolio.solvers:
            if name not in known:
                self.project.add_algorithm(name)
        self.info = self.project.info()

    def close(self) -> None:
        self._client.close()


def check_selector(project: StateProject | ServerProject, given: str | None) -> None:
    """Raise if a call asks for another selector than the one that chooses."""
    name = project.selector if given is None else recipe(parse_selector(given)[0]).name
    if name != project.selector:
        raise InputError(
            f"{project.where} was created with selector {project.selector}, not {name}: "
            "use that, or give another one"
        )


class _RemoteDecider(Decider):
    """Decides for one call; the server stores no notes."""

    waits = True

    def __init__(self, shared: ServerProject, key: str) -> None:
        project = cast("Project", shared.project)  # it has the methods that are called here
        # the server says when no run follows
        super().__init__(project, shared.selector, schedules=True, key=key)
        self._shared, self._answered = shared, False

    def feature_names(self) -> Sequence[str] | None:
        if self._shared.info["feature_names"] is None:  # they are known after the first decision
            self._shared.info = self._shared.project.info()
        names: list[str] | None = self._shared.info["feature_names"]
        return names

    def may_skip_features(self) -> bool:
        return True  # the server refuses what it cannot do

    def offers(self, solver: str) -> bool:  # noqa: ARG002
        return True

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
            self.problems.append(f"the answer stands, but nothing was learned from it: {error}")

    def proceed(self, decision: int, spent: float) -> Decision | None:
        return self.project.proceed(decision, spent=spent)

    def remark(self, body: Mapping[str, Any]) -> None:
        pass


def _settings(portfolio: Portfolio, request: Mapping[str, Any]) -> StreamSettings:
    return StreamSettings.of(portfolio, request["selector"], request["cutoff"], request["seed"] or 0)


class SolveCall(Serving):
    """A call in progress."""

    def __init__(
        self,
        place: ProgramExecutor,
        portfolio: Portfolio,
        shared: StateProject | ServerProject,
        instance: Instance,
        request: Mapping[str, Any],
    ) -> None:
        cutoff = shared.usual_cutoff if request["cutoff"] is None else request["cutoff"]
        self._instance = instance._replace(cutoff=cutoff)
        self._answering: RunResult | None = None
        super().__init__(
            place,
            portfolio,
            shared.decider(request["key"]),
            cutoff=cutoff,
            parallel=request["parallel"],
            seed=shared.usual_seed if request["seed"] is None else request["seed"],
            keep=self._keep_first_answer,
        )

    def _keep_first_answer(self, _instance: Instance, result: RunResult) -> None:
        self._answering = self._answering or result

    async def run(self) -> tuple[dict[str, Any], bytes]:
        """Return the message for the client, and the output of the solver that answered."""
        began = time.monotonic()
        record = InstanceRecord(self._instance.name, FileContent.of(self._instance.path))
        await self.serve(self._instance, record)
        problems = [] if record.problem is None else [record.problem]
        problems += [f"{run['solver']}: {run['problem']}" for run in record.runs if run.get("problem")]
        problems += self.decider.problems
        answering = next((run for run in record.runs if run["answer"] is not None), None)
        if answering is None and not self.stopped:
            problems.append(self._why_unsolved(record))
        report = {
            "instance": record.instance,
            "answer": None if answering is None else answering["answer"],
            "solver": None if answering is None else answering["solver"],
            "seconds": record.seconds,
            "cpu": record.cpu,
            "wall": time.monotonic() - began,
            "feature_seconds": record.feature_seconds,
            "runs": record.runs,
        }
        if answering is None or self._answering is None:
            output, exit_code = shown_unknown(self.portfolio)
        else:
            output, note = self._answering.output, self._answering.note
            exit_code = COMPETITION_CODES.get(note["answer"], note["exit_code"] or 0)
        return {"exit_code": exit_code, "problems": problems, "report": report}, output

    def _why_unsolved(self, record: InstanceRecord) -> str:
        """Return in words why there is no answer: the solvers' messages, if they all gave up early."""
        printed = [f"{run['solver']}: {run['said']}" for run in record.runs if "said" in run]
        if not printed or record.seconds >= 0.9 * self.cutoff:
            return f"not solved within {self.cutoff:g} s"
        return f"no solver has an answer; {printed[-1]}"


def shown_unknown(portfolio: Portfolio) -> tuple[bytes, int]:
    answers = {rule.answer for solver in portfolio.solvers.values() for rule in solver.answers}
    answers -= {rule.answer for rule in EXIT_CODE_0_SOLVES}
    if not answers.isdisjoint(COMPETITION_CODES):
        return b"s UNKNOWN\n", 0
    if not answers.isdisjoint(("sat", "unsat")):
        return b"unknown\n", 0
    return b"", NO_ANSWER
