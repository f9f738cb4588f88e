"""The routes that decide and learn: select, observe, proceed, and batches of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from tailcut.errors import InputError, JournalError, TailcutError
from tailcut.journal import Project
from tailcut.service import limits, problems
from tailcut.service.answers import Decided, DecidedBatch, Observed, ObservedBatch, Proceeded
from tailcut.service.context import Name, Route, Shared, answer
from tailcut.service.requests import Observe, ObserveBatch, Proceed, Select, SelectBatch
from tailcut.types import Decision

router = APIRouter(prefix="/v1/projects/{project}", tags=["steps"], route_class=Route)


@router.post("/select", response_model=Decided, summary="Decide which algorithm to run on an instance")
async def select(project: Name, request: Select, shared: Shared) -> Response:
    """Return which algorithm to run and for how long; the decision is on disk by then.

    With a `key` the request may be sent again, after a lost connection for example: the answer is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        return decide(kept, request, answered(kept, [request]))

    return answer(await shared.keeper.with_project(project, work, timed=True))


@router.post("/select/batch", response_model=DecidedBatch, summary="Decide for several instances at once")
async def select_batch(project: Name, batch: SelectBatch, shared: Shared) -> Response:
    """Return a decision for each request, or what was wrong with it; one does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        known = answered(kept, batch.requests)
        return [_decided(kept, request, known) for request in batch.requests]

    steps = len(batch.requests)
    return answer({"answers": await shared.keeper.with_project(project, work, steps=steps)})


@router.post("/observe", response_model=Observed, summary="Tell how a run went")
async def observe(project: Name, outcome: Observe, shared: Shared) -> Response:
    """Learn from an outcome, however late and in whatever order; the same one again changes nothing."""
    learned = await shared.keeper.with_project(
        project, lambda kept: kept.observe(outcome.decision, outcome.outcome()), slow=True
    )
    return answer({"decision": outcome.decision, "learned": learned})


@router.post("/observe/batch", response_model=ObservedBatch, summary="Tell how several runs went")
async def observe_batch(project: Name, batch: ObserveBatch, shared: Shared) -> Response:
    """Learn from several outcomes; one that is wrong does not hinder the others."""

    def work(kept: Project) -> list[dict[str, Any]]:
        return [_observed(kept, outcome) for outcome in batch.outcomes]

    steps = len(batch.outcomes)
    return answer({"answers": await shared.keeper.with_project(project, work, slow=True, steps=steps)})


@router.post("/proceed", response_model=Proceeded, summary="Go on with an instance that is not solved")
async def proceed(project: Name, request: Proceed, shared: Shared) -> Response:
    """Return the next run of a schedule on the same instance, or null: it is over.

    Sent again, the answer is the same.
    """

    def work(kept: Project) -> dict[str, Any]:
        following, repeated = kept.proceed_again(request.decision, spent=request.spent)
        return {"decision": None if following is None else told(following, repeated)}

    return answer(await shared.keeper.with_project(project, work, timed=True))


def answered(kept: Project, requests: list[Select]) -> dict[str, Decision]:
    """Return the decisions that were made before for requests with the same keys."""
    return kept.answered(*(request.key for request in requests if request.key is not None))


def decide(kept: Project, request: Select, known: dict[str, Decision]) -> dict[str, Any]:
    """Return the decision for a request: a new one, or the one that its key was answered with."""
    if request.key in known:
        return told(known[request.key], repeated=True)
    check_room(kept, request)
    # null is a missing value, which the selector's border takes as nan
    features: Any = request.features
    decision = kept.decide(
        features,
        instance=request.instance,
        cutoff=request.cutoff,
        among=request.among,
        spent=request.spent,
        feature_cost=request.feature_cost,
        key=request.key,
    )
    if request.key is not None:
        known[request.key] = decision  # the same batch may ask again
    return told(decision, repeated=False)


def check_room(kept: Project, request: Select) -> None:
    """Raise if the first features that a project sees would make its model too large."""
    selector = kept.selector
    if selector.n_features or request.features is None or not selector.needs_features:
        return
    check_cells(
        len(selector.algorithms), len(selector.feature_names or request.features), selector.hyperparameters
    )


def check_cells(algorithms: int, features: int, settings: dict[str, Any]) -> None:
    """Raise if a model for so many algorithms and features is too large."""
    kept = max(settings.get("reservoir", 0), settings.get("window", 0))
    cells = max(algorithms * features**2, kept * features, kept * settings.get("trees", 0))
    if cells > limits.CELLS:
        raise InputError(
            f"features: {features} of them for {algorithms} algorithms are too many for this server, "
            f"which keeps models of {limits.CELLS} numbers at most"
        )


def told(decision: Decision, repeated: bool) -> dict[str, Any]:
    """Return a decision as it is answered."""
    return {
        "id": decision.id,
        "instance": decision.instance,
        "algorithm": decision.algorithm,
        "budget": decision.budget,
        "cutoff": decision.cutoff,
        "scores": decision.scores,
        "reason": decision.reason,
        "stage": decision.stage,
        "spent": decision.spent,
        "repeated": repeated,
    }


def _decided(kept: Project, request: Select, known: dict[str, Decision]) -> dict[str, Any]:
    try:
        return {"decision": decide(kept, request, known), "error": None}
    except JournalError:
        raise  # nothing of the batch will be written
    except TailcutError as error:
        return {"decision": None, "error": problems.item(error)}


def _observed(kept: Project, outcome: Observe) -> dict[str, Any]:
    try:
        learned = kept.observe(outcome.decision, outcome.outcome())
    except JournalError:
        raise
    except TailcutError as error:
        return {"decision": outcome.decision, "learned": False, "error": problems.item(error)}
    return {"decision": outcome.decision, "learned": learned, "error": None}
