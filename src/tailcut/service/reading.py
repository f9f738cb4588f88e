"""The read-only routes: statistics, history, explanations, health, metrics, the live stream."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from starlette.responses import Response, StreamingResponse

from tailcut import __version__
from tailcut.explain.explanation import Explanation
from tailcut.journal import Event, EventKind, Journal, Project
from tailcut.journal.events import DECIDING
from tailcut.service import live_stream, responses
from tailcut.service import service_limits as limits
from tailcut.service.error_responses import RESPONSES, NoProjectError, error_response
from tailcut.service.prometheus import project_text
from tailcut.service.request_bodies import ConsiderBody
from tailcut.service.shared import Name, Route, Shared, json_response
from tailcut.service.steps import check_room, response_of
from tailcut.types import Decision

router = APIRouter(prefix="/v1", tags=["reading"], route_class=Route, responses=RESPONSES)
Limit = Annotated[int, Query(ge=1, le=limits.PAGE)]
Cursor = Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the page before")]
_TABLES = ("features", "runtimes", "solved", "known", "instances", "watched", "feature_cost")
"""The large fields of an event."""
Id = Annotated[int, InPath(ge=0, le=2**53)]


@router.get("/health", response_model=responses.HealthResponse, summary="Whether the service works")
async def health(shared: Shared) -> Response:
    """Return ok, or 503. Needs no token and says nothing else."""
    trouble = shared.writer.trouble()
    if trouble is None:
        return json_response({"status": "ok", "version": __version__})
    return error_response(503, trouble)


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(shared: Shared) -> Response:
    """Return counters and histograms in the text format of Prometheus."""
    writer = shared.writer
    projects = await writer.with_journal(lambda: project_text(writer.projects.values()))
    return Response(projects + shared.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get(
    "/projects/{project}/statistics",
    response_model=responses.StatisticsResponse,
    summary="What a project has done",
)
async def get_statistics(project: Name, shared: Shared) -> Response:
    """Return counts, PAR10, the curve over time and the latest latencies."""
    return json_response(await live_stream.latest_statistics(shared.writer, project))


@router.get(
    "/projects/{project}/estimate",
    response_model=responses.EstimateResponse,
    summary="Estimate what each single algorithm would have cost",
)
async def get_estimate(project: Name, shared: Shared) -> Response:
    """Return the latest estimate, for the latest 1,000 instances; a new one is begun when it has become old.

    It is made beside the server, so the first response has none yet.
    """
    await _number(shared, project)
    return json_response(shared.estimates.latest(project, shared.writer.revisions.get(project, 0)))


@router.get(
    "/projects/{project}/live",
    summary="Stream statistics when they change",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def get_live(project: Name, shared: Shared, request: Request) -> Response:
    """Return a stream of server-sent events: `statistics` at once, then after changes."""
    if project not in shared.writer.projects:
        raise NoProjectError(f"there is no project {project!r}")
    place = live_stream.take_place(shared)
    bearer = request.headers.get("authorization")
    return live_stream.LiveResponse(live_stream.stream(shared, project, bearer), place)


@router.get(
    "/projects/{project}/history", response_model=responses.HistoryResponse, summary="Events, page by page"
)
async def history(
    project: Name,
    shared: Shared,
    order: Literal["newest", "oldest"] = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    kind: Annotated[
        list[EventKind] | None, Query(max_length=len(EventKind), description="Only these")
    ] = None,
    decision: Annotated[int | None, Query(ge=0, le=2**53, description="Only those about it")] = None,
    features: Annotated[bool, Query(description="With features, and the tables of recorded runs")] = False,
) -> Response:
    """Return a page of the journal."""
    number = await _number(shared, project)

    def read(journal: Journal) -> list[Event]:
        return journal.page(
            number,
            newest_first=order == "newest",
            limit=limit + 1,
            cursor=cursor,
            kinds=kind or (),
            decision=decision,
        )

    found = await shared.reader.read(read)
    page = found[:limit]
    if not features:
        for event in page:
            for table in _TABLES:
                event.body.pop(table, None)
    following = page[-1].number if len(found) > limit else None
    return json_response({"events": [event._asdict() for event in page], "next": following})


@router.get(
    "/projects/{project}/decisions",
    response_model=responses.PastDecisionsResponse,
    summary="Decisions and their outcomes, page by page",
)
async def decisions(project: Name, shared: Shared, limit: Limit = 20, cursor: Cursor = None) -> Response:
    """Return the latest decisions, each with its outcome if that is known."""
    number = await _number(shared, project)

    def read(journal: Journal) -> tuple[list[Event], dict[int, Event]]:
        made = journal.page(number, limit=limit + 1, cursor=cursor, kinds=DECIDING)
        ids = [event.body["decision"]["id"] for event in made if event.body["decision"]]
        return made, journal.observed(number, ids)

    made, observed = await shared.reader.read(read)
    found = [
        _past(event, decision, observed.get(decision.id))
        for event in made[:limit]
        if (decision := event.decision()) is not None
    ]
    return json_response({"decisions": found, "next": made[limit - 1].number if len(made) > limit else None})


def _past(made: Event, decision: Decision, observed: Event | None) -> dict[str, Any]:
    outcome = None
    if observed is not None:
        body = observed.body
        known = {name: body.get(name) for name in ("status", "time", "loss")}
        outcome = {**known, "at": observed.at}
    return {**response_of(decision, repeated=True), "at": made.at, "outcome": outcome}


@router.get(
    "/projects/{project}/pending",
    response_model=responses.PendingResponse,
    summary="Decisions that wait for outcomes",
)
async def pending(project: Name, shared: Shared, limit: Limit = 100) -> Response:
    """Return the decisions that have waited longest."""

    def work(kept: Project) -> dict[str, Any]:
        waiting = kept.statistics.pending
        first = zip(range(limit), waiting.items(), strict=False)
        return {
            "count": len(waiting),
            "decisions": [{"id": number, **run._asdict()} for _, (number, run) in first],
        }

    return json_response(await shared.writer.with_project(project, work))


@router.get(
    "/projects/{project}/decisions/{decision}/explanation",
    response_model=responses.ExplanationResponse,
    summary="Why a decision was made",
)
async def explain(
    project: Name, decision: Id, shared: Shared, top: Annotated[int, Query(ge=0, le=100)] = 5
) -> Response:
    """Return predicted runtimes, timeout probabilities and the features that weighed most, as of now."""

    def work(kept: Project) -> dict[str, Any]:
        return _explained(kept.explain(decision, top=top))

    return json_response(await shared.writer.with_project(project, work))


@router.post(
    "/projects/{project}/consider",
    response_model=responses.ExplanationResponse,
    summary="What would be chosen for an instance, and why",
)
async def consider(project: Name, instance: ConsiderBody, shared: Shared) -> Response:
    """Return an explanation without deciding, drawing or learning; a decision may still be another."""

    def work(kept: Project) -> dict[str, Any]:
        features: Any = instance.features
        if features is not None:
            check_room(kept, len(features))
        explanation = kept.consider(features, cutoff=instance.cutoff, among=instance.among, top=instance.top)
        return _explained(explanation)

    return json_response(await shared.writer.with_project(project, work))


def _explained(explanation: Explanation) -> dict[str, Any]:
    return {**asdict(explanation), "text": explanation.text()}


@router.get(
    "/projects/{project}/feature_budget",
    response_model=responses.FeatureBudgetResponse,
    summary="How long computing the next instance's features may take",
)
async def feature_budget(
    project: Name,
    shared: Shared,
    cutoff: Annotated[
        float | None, Query(gt=0.0, le=limits.SECONDS, allow_inf_nan=False, description="Of that instance")
    ] = None,
) -> Response:
    """Return the seconds that computing features may take; changes nothing."""

    def work(kept: Project) -> dict[str, Any]:
        return {"seconds": kept.feature_budget(cutoff=cutoff)}

    return json_response(await shared.writer.with_project(project, work))


@router.get(
    "/projects/{project}/survival",
    response_model=responses.SurvivalResponse,
    summary="How long an algorithm's runs take",
)
async def survival(
    project: Name,
    shared: Shared,
    algorithm: Annotated[str, Query(min_length=1, max_length=limits.ALGORITHM_NAME)],
) -> Response:
    """Return the share of an algorithm's runs that are still unsolved after some time."""

    def work(kept: Project) -> dict[str, Any]:
        if algorithm not in kept.selector.algorithms and algorithm not in kept.statistics.algorithms:
            raise NoProjectError(f"there is no algorithm {algorithm!r}")
        points = kept.statistics.survival(algorithm)
        return {
            "algorithm": algorithm,
            "cutoff": kept.selector.cutoff,
            "runs": points[0].at_risk if points else 0,
            "curve": [point._asdict() for point in points],
        }

    return json_response(await shared.writer.with_project(project, work))


async def _number(shared: Shared, name: str) -> int:
    return await shared.writer.with_project(name, lambda kept: kept.number)
