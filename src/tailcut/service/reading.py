"""The routes that only look: statistics, history, explanations, health, metrics, the live stream."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from starlette.responses import Response, StreamingResponse

from tailcut import __version__
from tailcut.journal import Event, Journal, Project, events
from tailcut.service import answers, limits, live
from tailcut.service.context import Name, Route, Shared, answer
from tailcut.service.problems import NoProjectError, problem
from tailcut.service.statistics import exposition, statistics
from tailcut.service.steps import told

router = APIRouter(prefix="/v1", tags=["reading"], route_class=Route)
Limit = Annotated[int, Query(ge=1, le=limits.PAGE)]
Cursor = Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the page before")]
Kind = Literal["select", "observe", "proceed", "add algorithm", "remove algorithm", "remark"]
Id = Annotated[int, InPath(ge=0, le=2**53)]


@router.get("/health", response_model=answers.Health, summary="Whether the service works")
async def health(shared: Shared) -> Response:
    """Return ok, or 503. Needs no token and tells nothing else."""
    if shared.keeper.alive:
        return answer({"status": "ok", "version": __version__})
    return problem(503, "the service is about to stop")


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(shared: Shared) -> Response:
    """Return counters and histograms in the text format of Prometheus."""
    keeper = shared.keeper
    lines = await keeper.with_journal(lambda: list(exposition(keeper.projects.values())))
    text = "\n".join([*lines, *shared.metrics.text()]) + "\n"
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get(
    "/projects/{project}/statistics", response_model=answers.Statistics, summary="What a project has done"
)
async def get_statistics(project: Name, shared: Shared) -> Response:
    """Return counts, PAR10, an estimate of regret, the curve over time and the latest latencies."""
    latencies = list(shared.keeper.latencies.get(project, ()))
    return answer(await shared.keeper.with_project(project, lambda kept: statistics(kept, latencies)))


@router.get(
    "/projects/{project}/live",
    summary="Statistics, pushed when they change",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def get_live(project: Name, shared: Shared) -> Response:
    """Return a stream of server-sent events: `statistics` at once, then after changes."""
    if project not in shared.keeper.projects:
        raise NoProjectError(f"there is no project {project!r}")
    live.check_room(shared)
    return StreamingResponse(live.stream(shared, project), media_type="text/event-stream")


@router.get("/projects/{project}/history", response_model=answers.History, summary="Events, page by page")
async def history(
    project: Name,
    shared: Shared,
    order: Literal["newest", "oldest"] = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query(max_length=6, description="Only these")] = None,
    decision: Annotated[int | None, Query(ge=0, le=2**53, description="Only those about it")] = None,
    features: Annotated[bool, Query(description="With the features of the instances")] = False,
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
            event.body.pop("features", None)
    following = page[-1].number if len(found) > limit else None
    return answer({"events": [event._asdict() for event in page], "next": following})


@router.get(
    "/projects/{project}/decisions",
    response_model=answers.PastDecisions,
    summary="Decisions and their outcomes, page by page",
)
async def decisions(project: Name, shared: Shared, limit: Limit = 20, cursor: Cursor = None) -> Response:
    """Return the latest decisions, each with its outcome if that is known."""
    number = await _number(shared, project)

    def read(journal: Journal) -> tuple[list[Event], dict[int, Event]]:
        kinds = (events.SELECT, events.PROCEED)
        made = journal.page(number, limit=limit + 1, cursor=cursor, kinds=kinds)
        ids = [event.body["decision"]["id"] for event in made if event.body["decision"]]
        return made, journal.observed(number, ids)

    made, observed = await shared.reader.read(read)
    found = [_past(event, observed) for event in made[:limit] if event.body.get("details")]
    return answer({"decisions": found, "next": made[limit - 1].number if len(made) > limit else None})


def _past(event: Event, observed: dict[int, Event]) -> dict[str, Any]:
    decision = events.decision_of(event)
    assert decision is not None
    end = observed.get(decision.id)
    outcome = None if end is None else {"status": end.body["status"], "time": end.body["time"], "at": end.at}
    return {**told(decision, repeated=True), "at": event.at, "outcome": outcome}


@router.get(
    "/projects/{project}/pending", response_model=answers.Pending, summary="Decisions that wait for outcomes"
)
async def pending(project: Name, shared: Shared, limit: Limit = 100) -> Response:
    """Return the decisions that have waited longest."""

    def work(kept: Project) -> dict[str, Any]:
        waiting = kept.tally.pending
        first = zip(range(limit), waiting.items(), strict=False)
        return {
            "count": len(waiting),
            "decisions": [{"id": number, **run._asdict()} for _, (number, run) in first],
        }

    return answer(await shared.keeper.with_project(project, work))


@router.get(
    "/projects/{project}/decisions/{decision}/explanation",
    response_model=answers.Explained,
    summary="Why a decision fell as it did",
)
async def explain(
    project: Name, decision: Id, shared: Shared, top: Annotated[int, Query(ge=0, le=100)] = 5
) -> Response:
    """Return predicted runtimes, timeout probabilities and the features that weighed most, as of now."""

    def work(kept: Project) -> dict[str, Any]:
        explanation = kept.explain(decision, top=top)
        return {**asdict(explanation), "text": explanation.text()}

    return answer(await shared.keeper.with_project(project, work))


@router.get(
    "/projects/{project}/survival",
    response_model=answers.Survival,
    summary="How long an algorithm's runs take",
)
async def survival(
    project: Name,
    shared: Shared,
    algorithm: Annotated[str, Query(min_length=1, max_length=limits.ALGORITHM_NAME)],
) -> Response:
    """Return the share of an algorithm's runs that are still unfinished after some time."""

    def work(kept: Project) -> dict[str, Any]:
        if algorithm not in kept.selector.algorithms and algorithm not in kept.tally.algorithms:
            raise NoProjectError(f"there is no algorithm {algorithm!r}")
        points = kept.tally.survival(algorithm)
        return {
            "algorithm": algorithm,
            "cutoff": kept.selector.cutoff,
            "runs": points[0].at_risk if points else 0,
            "curve": [point._asdict() for point in points],
        }

    return answer(await shared.keeper.with_project(project, work))


async def _number(shared: Shared, name: str) -> int:
    return await shared.keeper.with_project(name, lambda kept: kept.number)
