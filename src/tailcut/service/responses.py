"""Responses; these models define the OpenAPI document, but frequent responses bypass them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class FieldError(BaseModel):
    """What is wrong with one field."""

    field: str = Field(examples=["features.3"])
    message: str


class ErrorResponse(BaseModel):
    """Why a request was not served."""

    status: int
    message: str
    errors: list[FieldError] = Field(default=[], description="The fields at fault, if any")
    id: str | None = Field(default=None, description="Look for it in the server's log")


class DecisionResponse(BaseModel):
    """Which algorithm to run on an instance, and for how long."""

    id: int
    instance: str | None
    algorithm: str
    budget: float = Field(description="Seconds to give to this run")
    cutoff: float
    scores: dict[str, float | None] = Field(description="The lower the better")
    reason: str
    stage: int = Field(description="Runs on this instance before; only schedules have more than 0")
    spent: float
    repeated: bool = Field(description="Whether this response was given before")


class RaceResponse(BaseModel):
    """Which algorithms to run on an instance at once; observe every one of them."""

    decisions: list[DecisionResponse] = Field(description="At most k; none if no algorithm is left to run")


class ObservationResponse(BaseModel):
    """An outcome was taken in."""

    decision: int
    learned: bool = Field(description="False: this outcome was already known")


class ProceedResponse(BaseModel):
    """What to run next on the same instance; null: it is over."""

    decision: DecisionResponse | None


class FitResponse(BaseModel):
    """Recorded runs were learned."""

    runs: int = Field(description="How many")


class FeatureBudgetResponse(BaseModel):
    """How long computing the next instance's features may take."""

    seconds: float = Field(description="0: skip them")


class ItemError(BaseModel):
    """Why one item of a batch was not served; the others were."""

    status: int
    message: str
    field: str | None


class DecisionItem(BaseModel):
    """The response to one item of a batch: one of both is null."""

    decision: DecisionResponse | None
    error: ItemError | None


class DecisionBatchResponse(BaseModel):
    """Responses in the order of the requests."""

    answers: list[DecisionItem]


class ObservationItem(BaseModel):
    """The response to one item of a batch."""

    decision: int
    learned: bool
    error: ItemError | None


class ObservationBatchResponse(BaseModel):
    """Responses in the order of the outcomes."""

    answers: list[ObservationItem]


class ProjectResponse(BaseModel):
    """A project and what its selector is."""

    name: str
    created: float = Field(description="Seconds since 1970")
    selector: str
    algorithms: list[str]
    cutoff: float
    seed: int
    hyperparameters: dict[str, Any]
    feature_names: list[str] | None
    n_features: int | None = Field(description="null until the first decision")
    needs_features: bool
    feature_budget: float = Field(
        description="Seconds that computing the next instance's features may take; 0: skip them"
    )
    schedules: bool = Field(description="Whether proceed may give another run on the same instance")
    max_pending: int
    pending: int
    decisions: int
    instances: int = Field(description="Completed instances")
    solved: int
    par10: float | None
    last_event: int


class ProjectListResponse(BaseModel):
    """All projects, in the order of their creation."""

    projects: list[ProjectResponse]


class RemovedResponse(BaseModel):
    """A project is gone."""

    removed: bool = Field(description="False: there was none")


class AlgorithmStatistics(BaseModel):
    """What is known about one algorithm."""

    name: str
    chosen: int
    share: float = Field(description="Of all decisions")
    solved: int
    censored: int
    failed: int
    mean_runtime: float | None = Field(description="Seconds, of solved runs")
    par10: float | None = Field(description="Seconds, over its own instances; null for schedules")
    mean_loss: float | None = Field(description="Of its runs, where losses count and not times; else null")


class StatisticsPoint(BaseModel):
    """Where things stood after some instances."""

    instances: int
    at: float
    par10: float
    par10_latest: float = Field(description="PAR10 of the instances since the point before")
    solved: int
    unsolved: int


class LatencyStatistics(BaseModel):
    """Milliseconds from a request's arrival until its decision was on disk, of the latest decisions."""

    count: int
    p50: float | None
    p99: float | None
    latest: list[float] = Field(description="Oldest first")


class StatisticsResponse(BaseModel):
    """What a project has done so far."""

    project: str
    selector: str
    at: float
    last_event: int
    decisions: int
    outcomes: int
    pending: int
    given_up: int = Field(description="Decisions whose outcome never came and that were forgotten")
    instances: int = Field(description="Completed instances")
    solved: int
    unsolved: int
    par10: float | None = Field(description="Seconds; null where losses count and not times")
    mean_loss: float | None = Field(description="Where losses count; a run that failed loses 1; else null")
    algorithms: list[AlgorithmStatistics]
    curve: list[StatisticsPoint] = Field(description="At most 256 points, oldest first")
    latency_ms: LatencyStatistics


class AlgorithmEstimate(BaseModel):
    """What one algorithm alone would have cost, in seconds of PAR10 per instance."""

    name: str
    par10: float | None = Field(description="The estimate; null: it never ran")
    low: float
    high: float
    known: int = Field(description="On how many of the instances its cost is known")
    ran: int
    exact: bool = Field(description="Whether all costs are known, so that this is exact")


class SavedEstimate(BaseModel):
    """Seconds of PAR10 per instance saved against the best single algorithm; below 0: lost."""

    estimate: float
    low: float
    high: float


class RunEstimateValues(BaseModel):
    """What a project cost, and what each single algorithm would have cost on the same instances."""

    is_estimate: Literal[True]
    level: float = Field(description="How often an interval should contain the truth")
    instances: int
    par10: float
    best: str | None = Field(description="The algorithm with the lowest estimate")
    saved: SavedEstimate | None
    solvers: list[AlgorithmEstimate] = Field(description="The lowest estimate first")


class EstimateResponse(BaseModel):
    """The latest estimate; null: there is none yet."""

    last_event: int | None = Field(description="The last event it includes")
    estimate: RunEstimateValues | None
    under_way: bool = Field(description="Whether a newer one is being computed")


class HistoryEvent(BaseModel):
    """One event of the journal."""

    number: int
    at: float
    kind: str
    key: str | None
    body: dict[str, Any]


class HistoryResponse(BaseModel):
    """A page of events."""

    events: list[HistoryEvent]
    next: int | None = Field(description="The cursor of the next page; null: there is none")


class KnownOutcome(BaseModel):
    """How a run ended."""

    status: Literal["solved", "censored", "failed", "rated"]
    time: float | None
    loss: float | None = Field(default=None, description="Of a rated run: how bad its answer was, 0 to 1")
    at: float


class PastDecision(DecisionResponse):
    """A decision and, if it is known, its outcome."""

    at: float
    outcome: KnownOutcome | None


class PastDecisionsResponse(BaseModel):
    """A page of decisions, the newest first."""

    decisions: list[PastDecision]
    next: int | None = Field(description="The cursor of the next page; null: there is none")


class PendingDecision(BaseModel):
    """A decision that waits for its outcome."""

    id: int
    algorithm: str
    instance: str | None
    budget: float
    cutoff: float
    spent: float
    stage: int
    at: float


class PendingResponse(BaseModel):
    """Decisions that wait, the oldest first."""

    count: int
    decisions: list[PendingDecision]


class SurvivalPoint(BaseModel):
    """The share of runs still unsolved after some time."""

    time: float
    survival: float
    at_risk: int


class SurvivalResponse(BaseModel):
    """The survival curve of an algorithm's runs, estimated as Kaplan and Meier do."""

    algorithm: str
    cutoff: float
    runs: int
    curve: list[SurvivalPoint]


class BeliefResponse(BaseModel):
    """What the selector thought of one algorithm."""

    name: str
    score: float | None
    runs: int | None
    predicted_runtime: float | None
    low: float | None
    high: float | None
    timeout_probability: float | None
    expected_par: float | None


class EffectResponse(BaseModel):
    """What one feature weighed."""

    name: str | None
    index: int
    value: float | None
    effect: float | None


class ExplanationResponse(BaseModel):
    """Why a decision was made, or would be."""

    selector: str
    decision: int | None = Field(description="null where nothing was decided")
    instance: str | None
    algorithm: str
    reason: str
    budget: float
    cutoff: float
    penalty: float
    judged_by: str
    unit: str
    algorithms: list[BeliefResponse]
    rival: str | None
    features: list[EffectResponse]
    outcomes_since: int
    text: str = Field(description="The same as a table for people")


class HealthResponse(BaseModel):
    """Whether the service works."""

    status: Literal["ok", "failing"]
    version: str


class SelectorInfo(BaseModel):
    """A selector of the catalogue."""

    name: str
    summary: str
    kind: str
    hyperparameters: dict[str, Any]


class SelectorListResponse(BaseModel):
    """What a project may be made of."""

    selectors: list[SelectorInfo]
