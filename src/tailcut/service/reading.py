"""The read-only routes: statistics, history, explanations, health, metrics, the live stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Path as InPath
from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tailcut import __version__
from tailcut.explain import Explanation
from tailcut.journal import Event, EventKind, Project
from tailcut.journal.events import DECIDING
from tailcut.service import responses
from tailcut.service import service_limits as limits
from tailcut.service.journal_writer import JournalWriter
from tailcut.service.request_bodies import ConsiderBody
from tailcut.service.responses import json_response, model, to_json
from tailcut.service.routes import Name, Router, ServiceContext, Shared, check_room, response_of
from tailcut.service.statistics import project_statistics

server = Router("/v1", "reading")
"""Routes of the server as a whole."""
router = Router("/v1/projects/{project}", "reading")
Limit = Annotated[int, Query(ge=1, le=1_000)]
Cursor = Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the page before")]
_TABLES = ("features", "runtimes", "solved", "known", "instances", "watched", "feature_cost")
"""The large fields of an event."""
Id = Annotated[int, InPath(ge=0, le=2**53)]
PAUSE = 0.5
"""Minimum seconds between two messages of a live stream."""
HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent, to notice a broken connection."""


@server.json("GET", "/health", model("HealthResponse", status=Literal["ok", "failing"], version=str))
async def health(shared: Shared) -> Response:
    """Whether the service works.

    The response is ok, or 503. It needs no token and says nothing else.
    """
    trouble = shared.writer.trouble()
    if trouble is None:
        return json_response({"status": "ok", "version": __version__})
    return responses.error_response(503, trouble)


@server.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(shared: Shared) -> Response:
    """Return counters and histograms in the text format of Prometheus."""
    writer = shared.writer
    text = await writer.with_journal(lambda: writer.metrics.text(writer.projects.values()))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.json("GET", "/statistics", responses.StatisticsResponse)
async def get_statistics(project: Name, shared: Shared) -> Response:
    """What a project has done."""  # noqa: D401 - as all routes: what it gives
    return json_response(await _statistics(shared.writer, project))


async def _statistics(writer: JournalWriter, name: str) -> dict[str, Any]:
    latencies = list(writer.latencies.get(name, ()))
    return await writer.with_project(name, lambda project: project_statistics(project, latencies))


@router.json("GET", "/estimate", responses.EstimateResponse)
async def get_estimate(project: Name, shared: Shared) -> Response:
    """Estimate what each single algorithm would have cost.

    The latest estimate, for the latest 1,000 instances; a new one is begun when it has become old. It is made
    beside the server, so the first response has none yet.
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
        raise responses.NoProjectError(f"there is no project {project!r}")
    return _LiveResponse(shared, project, request.headers.get("authorization"))


class _LiveResponse(StreamingResponse):
    """A stream that is counted from its creation until it ends, however that happens."""

    def __init__(self, shared: ServiceContext, project: str, bearer: str | None) -> None:
        if shared.streams >= shared.writer.limits.streams:
            raise responses.BusyError(f"there are {shared.streams} live streams already")
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
            yield b"event: statistics\nid: %d\ndata: %s\n\n" % (content["last_event"], to_json(content))
        elif quiet >= HEARTBEAT:
            quiet = 0.0
            yield b": still here\n\n"
        quiet += PAUSE
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(shared.stopping.wait(), PAUSE)
    yield b"event: end\ndata: {}\n\n"


async def _page(shared: Shared, number: int, limit: int, **which: Any) -> tuple[list[Event], int | None]:
    """Return a page of a project's events, and the cursor of the next page, None if there is none."""
    events = await shared.read(lambda journal: journal.page(number, limit=limit + 1, **which))
    return events[:limit], events[limit - 1].number if len(events) > limit else None


@router.json("GET", "/history", model("HistoryResponse", events=[responses.HistoryEvent], next=int | None))
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
    """Events, page by page."""
    which = {"newest_first": order == "newest", "kinds": kind or (), "decision": decision}
    events, following = await _page(shared, await _number(shared, project), limit, cursor=cursor, **which)
    if not features:
        for event in events:
            for table in _TABLES:
                event.body.pop(table, None)
    return json_response({"events": [event._asdict() for event in events], "next": following})


@router.json(
    "GET", "/decisions", model("PastDecisionsResponse", decisions=[responses.PastDecision], next=int | None)
)
async def decisions(project: Name, shared: Shared, limit: Limit = 20, cursor: Cursor = None) -> Response:
    """Decisions and their outcomes, page by page."""
    number = await _number(shared, project)
    events, following = await _page(shared, number, limit, cursor=cursor, kinds=DECIDING)
    made = [(event, decision) for event in events if (decision := event.decision()) is not None]
    ids = [decision.id for _, decision in made]
    observed = await shared.read(lambda journal: journal.observed(number, ids))
    page = []
    for event, decision in made:
        outcome, end = None, observed.get(decision.id)
        if end is not None:
            outcome = {name: end.body.get(name) for name in ("status", "time", "loss")} | {"at": end.at}
        page.append({**response_of(decision, repeated=True), "at": event.at, "outcome": outcome})
    return json_response({"decisions": page, "next": following})


@router.work("GET", "/pending", model("PendingResponse", count=int, decisions=[responses.PendingDecision]))
def pending(project: Project, limit: Limit = 100) -> dict[str, Any]:
    """Decisions that wait for outcomes."""
    waiting = project.statistics.pending
    first = islice(waiting.items(), limit)
    return {"count": len(waiting), "decisions": [{"id": number, **run._asdict()} for number, run in first]}


@router.work("GET", "/decisions/{decision}/explanation", responses.ExplanationResponse)
def explain(project: Project, decision: Id, top: Annotated[int, Query(ge=0, le=100)] = 5) -> dict[str, Any]:
    """Why a decision was made."""
    return _explained(project.explain(decision, top=top))


@router.work("POST", "/consider", responses.ExplanationResponse)
def consider(project: Project, body: ConsiderBody) -> dict[str, Any]:
    """What would be chosen for an instance, and why.

    Nothing is decided, drawn or learned; a decision may still be another.
    """  # noqa: D401
    check_room(project, body.features)
    return _explained(project.consider(**dict(body)))


def _explained(explanation: Explanation) -> dict[str, Any]:
    return {**asdict(explanation), "text": explanation.text()}


@router.work("GET", "/feature_budget", model("FeatureBudgetResponse", seconds=(float, "0: skip them")))
def feature_budget(
    project: Project,
    cutoff: Annotated[
        float | None, Query(gt=0.0, le=limits.SECONDS, allow_inf_nan=False, description="Of that instance")
    ] = None,
) -> dict[str, float]:
    """How long computing the next instance's features may take."""
    return {"seconds": project.feature_budget(cutoff=cutoff)}


@router.work(
    "GET",
    "/survival",
    model("SurvivalResponse", algorithm=str, cutoff=float, runs=int, curve=[responses.SurvivalPoint]),
)
def survival(
    project: Project, algorithm: Annotated[str, Query(min_length=1, max_length=limits.ALGORITHM_NAME)]
) -> dict[str, Any]:
    """How long an algorithm's runs take.

    The share of its runs still unsolved after some time, estimated as Kaplan and Meier do.
    """
    if algorithm not in project.selector.algorithms and algorithm not in project.statistics.algorithms:
        raise responses.NoProjectError(f"there is no algorithm {algorithm!r}")
    points = project.statistics.survival(algorithm)
    return {
        "algorithm": algorithm,
        "cutoff": project.selector.cutoff,
        "runs": points[0].at_risk if points else 0,
        "curve": [point._asdict() for point in points],
    }


async def _number(shared: Shared, name: str) -> int:
    return await shared.writer.with_project(name, lambda kept: kept.number)
