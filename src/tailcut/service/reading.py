"""The read-only routes: statistics, history, explanations, health, metrics, the live stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Path as InPath
from fastapi import Query, Request
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tailcut import __version__
from tailcut.explain import Explanation
from tailcut.journal import Event, EventKind, Journal, Project
from tailcut.journal.events import DECIDING
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.request_bodies import ConsiderBody
from tailcut.service.responses import BusyError, NoProjectError, error_response, json_response
from tailcut.service.routes import Name, Router, ServiceContext, Shared, check_room, response_of
from tailcut.service.statistics import project_statistics

server = Router("/v1", "reading")
"""Routes of the server as a whole."""
router = Router("/v1/projects/{project}", "reading")
Limit = Annotated[int, Query(ge=1, le=limits.PAGE)]
Cursor = Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the page before")]
_TABLES = ("features", "runtimes", "solved", "known", "instances", "watched", "feature_cost")
"""The large fields of an event."""
Id = Annotated[int, InPath(ge=0, le=2**53)]
PAUSE = 0.5
"""Minimum seconds between two messages of a live stream."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, to notice a broken connection."""


@server.json("GET", "/health", responses.HealthResponse, "Whether the service works")
async def health(shared: Shared) -> Response:
    """Return ok, or 503. Needs no token and says nothing else."""
    trouble = shared.writer.trouble()
    if trouble is None:
        return json_response({"status": "ok", "version": __version__})
    return error_response(503, trouble)


@server.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(shared: Shared) -> Response:
    """Return counters and histograms in the text format of Prometheus."""
    writer = shared.writer
    text = await writer.with_journal(lambda: shared.metrics.text(writer.projects.values()))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.json("GET", "/statistics", responses.StatisticsResponse, "What a project has done")
async def get_statistics(project: Name, shared: Shared) -> Response:
    """Return counts, PAR10, the curve over time and the latest latencies."""
    return json_response(await _statistics(shared.writer, project))


async def _statistics(writer: JournalWriter, name: str) -> dict[str, Any]:
    latencies = list(writer.latencies.get(name, ()))
    return await writer.with_project(name, lambda project: project_statistics(project, latencies))


@router.json(
    "GET", "/estimate", responses.EstimateResponse, "Estimate what each single algorithm would have cost"
)
async def get_estimate(project: Name, shared: Shared) -> Response:
    """Return the latest estimate, for the latest 1,000 instances; a new one is begun when it has become old.

    It is made beside the server, so the first response has none yet.
    """
    await _number(shared, project)
    return json_response(shared.estimates.latest(project, shared.writer.revisions.get(project, 0)))


@router.get(
    "/live",
    summary="Stream statistics when they change",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def get_live(project: Name, shared: Shared, request: Request) -> Response:
    """Return a stream of server-sent events: `statistics` at once, then after changes."""
    if project not in shared.writer.projects:
        raise NoProjectError(f"there is no project {project!r}")
    return _LiveResponse(shared, project, request.headers.get("authorization"))


class _LiveResponse(StreamingResponse):
    """A stream that is counted from its creation until it ends, however that happens."""

    def __init__(self, shared: ServiceContext, project: str, bearer: str | None) -> None:
        if shared.streams >= shared.limits.streams:
            raise BusyError(f"there are {shared.streams} live streams already")
        shared.streams += 1
        self._shared = shared
        super().__init__(_messages(shared, project, bearer), media_type="text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._shared.streams -= 1


async def _messages(shared: ServiceContext, project: str, bearer: str | None) -> AsyncIterator[bytes]:
    """Yield messages until the client, the server or the project is gone, or the token is revoked."""
    writer, sent, quiet = shared.writer, -1, 0.0

    def readable() -> bool:
        return project in writer.projects and "read" in (shared.access.scopes(bearer) or ())

    while not shared.stopping.is_set() and readable():
        revision = writer.revisions.get(project, 0)
        if revision != sent:
            sent, quiet = revision, 0.0
            content = await _statistics(writer, project)
            data = to_json(content, inf_nan_mode="null")
            yield b"event: statistics\nid: %d\ndata: %s\n\n" % (content["last_event"], data)
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield b": still here\n\n"
        quiet += PAUSE
        try:
            await asyncio.wait_for(shared.stopping.wait(), PAUSE)
        except TimeoutError:
            continue
    yield b"event: end\ndata: {}\n\n"


@router.json("GET", "/history", responses.HistoryResponse, "Events, page by page")
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

    events = await shared.reader.read(read)
    page = events[:limit]
    if not features:
        for event in page:
            for table in _TABLES:
                event.body.pop(table, None)
    following = page[-1].number if len(events) > limit else None
    return json_response({"events": [event._asdict() for event in page], "next": following})


@router.json(
    "GET", "/decisions", responses.PastDecisionsResponse, "Decisions and their outcomes, page by page"
)
async def decisions(project: Name, shared: Shared, limit: Limit = 20, cursor: Cursor = None) -> Response:
    """Return the latest decisions, each with its outcome if that is known."""
    number = await _number(shared, project)

    def read(journal: Journal) -> tuple[list[Event], dict[int, Event]]:
        events = journal.page(number, limit=limit + 1, cursor=cursor, kinds=DECIDING)
        ids = [event.body["decision"]["id"] for event in events if event.body["decision"]]
        return events, journal.observed(number, ids)

    events, observed = await shared.reader.read(read)
    page = []
    for event in events[:limit]:
        if (decision := event.decision()) is not None:
            outcome, end = None, observed.get(decision.id)
            if end is not None:
                outcome = {name: end.body.get(name) for name in ("status", "time", "loss")} | {"at": end.at}
            page.append({**response_of(decision, repeated=True), "at": event.at, "outcome": outcome})
    following = events[limit - 1].number if len(events) > limit else None
    return json_response({"decisions": page, "next": following})


@router.json("GET", "/pending", responses.PendingResponse, "Decisions that wait for outcomes")
async def pending(project: Name, shared: Shared, limit: Limit = 100) -> Response:
    """Return the decisions that have waited longest."""

    def work(kept: Project) -> dict[str, Any]:
        waiting = kept.statistics.pending
        first = islice(waiting.items(), limit)
        return {
            "count": len(waiting),
            "decisions": [{"id": number, **run._asdict()} for number, run in first],
        }

    return json_response(await shared.writer.with_project(project, work))


@router.json(
    "GET", "/decisions/{decision}/explanation", responses.ExplanationResponse, "Why a decision was made"
)
async def explain(
    project: Name, decision: Id, shared: Shared, top: Annotated[int, Query(ge=0, le=100)] = 5
) -> Response:
    """Return predicted runtimes, timeout probabilities and the features that weighed most, as of now."""

    def work(kept: Project) -> dict[str, Any]:
        return _explained(kept.explain(decision, top=top))

    return json_response(await shared.writer.with_project(project, work))


@router.json(
    "POST", "/consider", responses.ExplanationResponse, "What would be chosen for an instance, and why"
)
async def consider(project: Name, instance: ConsiderBody, shared: Shared) -> Response:
    """Return an explanation without deciding, drawing or learning; a decision may still be another."""

    def work(kept: Project) -> dict[str, Any]:
        check_room(kept, instance.features)
        return _explained(kept.consider(**dict(instance)))

    return json_response(await shared.writer.with_project(project, work))


def _explained(explanation: Explanation) -> dict[str, Any]:
    return {**asdict(explanation), "text": explanation.text()}


@router.json(
    "GET",
    "/feature_budget",
    responses.FeatureBudgetResponse,
    "How long computing the next instance's features may take",
)
async def feature_budget(
    project: Name,
    shared: Shared,
    cutoff: Annotated[
        float | None, Query(gt=0.0, le=limits.SECONDS, allow_inf_nan=False, description="Of that instance")
    ] = None,
) -> Response:
    """Return the seconds that computing features may take; changes nothing."""
    seconds = await shared.writer.with_project(project, lambda kept: kept.feature_budget(cutoff=cutoff))
    return json_response({"seconds": seconds})


@router.json("GET", "/survival", responses.SurvivalResponse, "How long an algorithm's runs take")
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
