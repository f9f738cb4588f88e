"""The routes that decide and learn: select, observe, proceed, batches of them, and fit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from functools import partial
from typing import Any, TypeVar

from starlette.responses import Response

from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.journal import Project
from tailcut.policies.recorded_runs import RecordedRuns
from tailcut.service import request_bodies as bodies
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.responses import json_response
from tailcut.service.shared import Name, Router, Shared
from tailcut.types import Decision

T = TypeVar("T")
router = Router("/v1/projects/{project}", "steps")


@router.json("POST", "/select", responses.DecisionResponse, "Decide which algorithm to run on an instance")
async def select(project: Name, request: bodies.SelectBody, shared: Shared) -> Response:
    """Return which algorithm to run and for how long; the decision is on disk by then.

    With a `key` the request may be sent again, after a lost connection for example: the response is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        return _decide(kept, request, _decided_before(kept, [request]))

    return json_response(await shared.writer.with_project(project, work, timed=True))


@router.json("POST", "/race", responses.RaceResponse, "Decide which algorithms to run on an instance at once")
async def race(project: Name, request: bodies.RaceBody, shared: Shared) -> Response:
    """Return up to `k` runs that are best together; the first answer wins, and each run is observed.

    With a `key` the request may be sent again, as with `select`.
    """

    def work(kept: Project) -> dict[str, Any]:
        check_room(kept, request.features)
        before = kept.selector.decisions
        decisions = kept.race(**dict(request))
        return {"decisions": [response_of(decision, decision.id < before) for decision in decisions]}

    return json_response(await shared.writer.with_project(project, work, timed=True, steps=request.k))


@router.json("POST", "/select/batch", responses.DecisionBatchResponse, "Decide for several instances at once")
async def select_batch(project: Name, batch: bodies.SelectBatchBody, shared: Shared) -> Response:
    """Return a decision for each request, or what was wrong with it; one does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        before, answers = _decided_before(kept, batch.requests), []
        for request in batch.requests:
            decision, error = _attempt(partial(_decide, kept, request, before))
            answers.append({"decision": decision, "error": error})
        return answers

    steps = len(batch.requests)
    return json_response({"answers": await shared.writer.with_project(project, work, steps=steps)})


@router.json("POST", "/observe", responses.ObservationResponse, "Report how a run went")
async def observe(project: Name, outcome: bodies.ObserveBody, shared: Shared) -> Response:
    """Learn from an outcome, however late and in whatever order; the same one again changes nothing."""
    learned = await shared.writer.with_project(project, partial(_observe, outcome), slow=True)
    return json_response({"decision": outcome.decision, "learned": learned})


@router.json("POST", "/observe/batch", responses.ObservationBatchResponse, "Report how several runs went")
async def observe_batch(project: Name, batch: bodies.ObserveBatchBody, shared: Shared) -> Response:
    """Learn from several outcomes; one that is wrong does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        answers = []
        for outcome in batch.outcomes:
            learned, error = _attempt(partial(_observe, outcome, kept))
            answers.append({"decision": outcome.decision, "learned": bool(learned), "error": error})
        return answers

    steps = len(batch.outcomes)
    return json_response({"answers": await shared.writer.with_project(project, work, slow=True, steps=steps)})


@router.json("POST", "/proceed", responses.ProceedResponse, "Continue with an instance that is not solved")
async def proceed(project: Name, request: bodies.ProceedBody, shared: Shared) -> Response:
    """Return the next run of a schedule on the same instance, or null: it is over.

    Sent again, the response is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        following, repeated = kept.proceed_again(request.decision, spent=request.spent)
        return {"decision": None if following is None else response_of(following, repeated)}

    return json_response(await shared.writer.with_project(project, work, timed=True))


@router.json("POST", "/fit", responses.FitResponse, "Learn from recorded runs")
async def fit(project: Name, runs: bodies.FitBody, shared: Shared) -> Response:
    """Learn every known run, as if it had just been observed; all others wait meanwhile.

    With a `key` the request may be sent again: nothing is learned twice. Several requests are learned one
    after the other, which is not quite the same as all their runs at once.
    """
    # Parsing tables takes time, so it is done before the request is queued.
    recorded = await asyncio.to_thread(lambda: RecordedRuns.from_dict(runs.model_dump()))

    def work(kept: Project) -> int:
        check_room(kept, range(recorded.features.shape[1]))
        return kept.fit(recorded, known=recorded.known, key=runs.key)

    return json_response({"runs": await shared.writer.with_project(project, work, slow=True)})


def _decided_before(kept: Project, requests: list[bodies.SelectBody]) -> dict[str, Decision]:
    return kept.decided_before([request.key for request in requests if request.key is not None])


def _decide(kept: Project, request: bodies.SelectBody, before: dict[str, Decision]) -> dict[str, Any]:
    """Return the decision for a request: a new one, or the one already made for its key."""
    if request.key in before:
        return response_of(before[request.key], repeated=True)
    check_room(kept, request.features)
    decision = kept.decide(request.request(), key=request.key)
    if request.key is not None:
        before[request.key] = decision  # the same batch may repeat a key
    return response_of(decision, repeated=False)


def _observe(outcome: bodies.ObserveBody, kept: Project) -> bool:
    return kept.observe(outcome.decision, outcome.outcome())


def _attempt(step: Callable[[], T]) -> tuple[T | None, dict[str, Any] | None]:
    """Return what an item of a batch came to, or what was wrong with it."""
    try:
        return step(), None
    except JournalError:
        raise  # nothing of the batch will be written
    except TailcutError as error:
        return None, responses.described(error)


def response_of(decision: Decision, repeated: bool) -> dict[str, Any]:
    """Return a decision as clients get it."""
    return {**decision.to_dict(), "repeated": repeated}


def check_room(kept: Project, features: Sized | None) -> None:
    """Raise if so many features, the first that a project sees, would make its model too large."""
    selector = kept.selector
    if features is not None and selector.needs_features and not selector.n_features:
        width = len(selector.feature_names or features)
        check_cells(len(selector.algorithms), width, selector.hyperparameters, kept.statistics.limit)


def check_cells(algorithms: int, features: int, settings: dict[str, Any], pending: int = 0) -> None:
    """Raise if a model for so many algorithms and features, or what waits, is too large."""
    if pending * features > limits.PENDING_CELLS:
        raise InputError(
            f"features: {features} of them for {pending} decisions that may wait are too many for this "
            f"server, which keeps {limits.PENDING_CELLS} numbers at most; give a smaller max_pending",
            field="features",
        )
    kept = max(settings.get("memory", 0), settings.get("window", 0))
    if kept * max(features, algorithms * settings.get("trees", 0)) > limits.MEMORY_CELLS:
        raise InputError(
            f"features: {features} of them, {algorithms} algorithms and a memory of {kept} are too many for "
            f"this server, which remembers {limits.MEMORY_CELLS} numbers at most; give a smaller memory",
            field="features",
        )
    if algorithms * features**2 > limits.CELLS:
        raise InputError(
            f"features: {features} of them for {algorithms} algorithms are too many for this server, "
            f"which keeps models of {limits.CELLS} numbers at most",
            field="features",
        )
