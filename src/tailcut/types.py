"""The values that cross every boundary: Request, Decision, Outcome, Progress, Belief, Estimate, Forecasts.

Each is frozen. Input is checked once, when the value is created, and all later code relies on that; the
checks of names, seconds and counts are at the end. Whether a run was censored is a field, set by the code
that stopped the run: Tailcut never infers it by comparing times.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tailcut.display import html_table
from tailcut.errors import InputError, NotExplainedError

if TYPE_CHECKING:
    from tailcut.explain import Explanation
    from tailcut.policies.recorded_runs import Recorded

Array = NDArray[np.float64]
"""A float64 array; docstrings give its shape, with K algorithms and d features."""

Features = Sequence[float] | Array | Mapping[str, float] | None
"""A vector, a mapping from names to values, or None where none were computed; nan is a missing value.

What else has names is read by them, too: a Series of pandas, or one row of a table of pandas or polars."""

NO_FEATURES: Array = np.empty(0)
"""An instance of which no features were computed, raw or represented: not missing values but none at all."""

PENALTY = 10.0
"""The k of PARk: an unsolved instance counts k times its cutoff."""


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `select`: an instance, and what applies to it alone.

    A selector, a project of a journal and the service's client all build one, so they have the same
    parameters.

    >>> Request([0.5, float("nan")], instance="i1", among=["b", "a"]).to_dict()["features"]
    [0.5, None]
    """

    features: Features = None
    instance: str | None = None
    cutoff: float | None = None
    """Seconds for this instance; None: the selector's own."""
    among: Iterable[str] | None = None
    """Which algorithms may be chosen, a tuple once checked; None: all."""
    spent: float = 0.0
    """Seconds used on the instance before, without the features."""
    feature_cost: float = 0.0
    """Seconds that computing the features took, even if it was given up."""
    failed: Mapping[str, float] | None = None
    """For how many seconds algorithms have already run on the instance without an answer; in a race never
    None."""

    def __post_init__(self) -> None:
        if type(self.features) not in _AS_THEY_ARE:
            self._settle("features", by_name(self.features))
        if self.failed is not None:
            checked = {name: check_seconds("failed", seconds) for name, seconds in self.failed.items()}
            self._settle("failed", checked)
        if self.instance is not None and not isinstance(self.instance, str):
            raise InputError(f"instance must be a string, got {self.instance!r}", field="instance")
        if self.cutoff is not None:
            self._settle("cutoff", check_seconds("cutoff", self.cutoff, above_zero=True))
        if self.among is not None:
            self._settle("among", check_names("among", self.among))
        if self.spent != 0.0 or self.feature_cost != 0.0:
            self._settle("spent", check_seconds("spent", self.spent))
            self._settle("feature_cost", check_seconds("feature_cost", self.feature_cost))

    def _settle(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def limit(self, cutoff: float) -> float:
        """Return the seconds after which the instance counts as unsolved; `cutoff` is the selector's."""
        return cutoff if self.cutoff is None else self.cutoff

    def used(self, cutoff: float) -> float:
        """Return the seconds used before the run; raise if nothing of `cutoff` is left.

        >>> Request(spent=5, feature_cost=2).used(cutoff=60.0)
        7.0
        >>> Request(spent=9).used(cutoff=6.0)
        Traceback (most recent call last):
            ...
        tailcut.errors.InputError: spent must be less than the cutoff of 6 s, got 9.0: no time is left to run
        """
        if self.spent == 0.0 and self.feature_cost == 0.0:
            return 0.0
        both = self.spent + self.feature_cost
        uses = {"spent": self.spent, "feature_cost": self.feature_cost, "spent + feature_cost": both}
        for name, seconds in uses.items():
            if seconds >= cutoff:
                bound = f"must be less than the cutoff of {cutoff:g} s, got {seconds!r}"
                raise InputError(f"{name} {bound}: no time is left to run", field=name.partition(" ")[0])
        return both

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON values; a missing feature value is None, and `failed` may be absent."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["features"] = _plain_features(self.features)
        values["among"] = None if self.among is None else list(self.among)
        if self.failed is None:
            del values["failed"]
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Request:
        """Return the request that `to_dict` turned into `values`; other keys are ignored."""
        always = {field.name: values[field.name] for field in fields(Request) if field.name != "failed"}
        return Request(**always, failed=values.get("failed"))


class ConsiderOptions(TypedDict, total=False):
    """What may be said of an instance, as keywords of `consider`: fields of a `Request`."""

    cutoff: float | None
    among: Iterable[str] | None


class RequestOptions(ConsiderOptions, total=False):
    """The keywords of `select` and `race`: all fields of a `Request` that a caller sets."""

    instance: str | None
    spent: float
    feature_cost: float


class OutcomeOptions(TypedDict, total=False):
    """The keywords of `observe`: one of them, unless there is an `Outcome`."""

    runtime: float | None
    censored_at: float | None
    failed: bool
    loss: float | None


_AS_THEY_ARE = (np.ndarray, list, dict, type(None))


def by_name(features: Any) -> Features:
    """Return features as a vector, or as a mapping if they have names; what is masked is missing.

    >>> by_name(np.ma.masked_array([1.0, 2.0], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if isinstance(features, np.ma.MaskedArray):
        return as_numbers("features", features)
    if hasattr(features, "columns"):  # a table of pandas or polars
        if len(features) != 1:
            raise InputError(
                f"features must be one instance, got a table of {len(features)} rows", field="features"
            )
        return _mapping(features.columns, (features[name].to_list()[0] for name in features.columns))
    if hasattr(features, "index") and hasattr(features, "items"):  # a Series of pandas
        named = list(features.index) != [*range(len(features))]
        return _mapping(features.index, features.to_list()) if named else features.to_list()
    if isinstance(features, tuple):
        names = getattr(features, "_fields", None)
        return features if names is None else _mapping(names, features)
    return features  # type: ignore[no-any-return]


def _mapping(names: Iterable[str], values: Iterable[Any]) -> Mapping[str, Any]:
    return dict(zip(check_names("features", names), values, strict=True))


def _plain_features(features: Features) -> list[float | None] | dict[str, float | None] | None:
    if features is None:
        return None
    if isinstance(features, Mapping):
        return {name: _plain(value) for name, value in features.items()}
    if isinstance(features, list) and _all_finite(features):
        return list(features)
    return [_plain(value) for value in features]


def _all_finite(values: Sequence[Any]) -> bool:
    """Return True if all are certainly finite numbers; False if a slower check is needed."""
    try:
        return type(sum(values, 0.0)) is float and math.isfinite(sum(values))
    except (TypeError, OverflowError):
        return False


def _plain(value: float | None) -> float | None:
    number = as_number(value)
    return None if math.isnan(number) else number


def _no_selector() -> None:
    """Return no selector."""


class Origin(NamedTuple):
    """Where a decision comes from: what an explanation of it needs."""

    selector: Callable[[], Any]
    """Returns the selector, or None if it is gone."""
    features: Array | None
    """The instance's raw features, shape (d,); None if they are no longer known."""
    x: Array
    """The represented instance, shape (d',)."""
    learned: int
    """How many outcomes the selector had learned."""
    failed: Mapping[str, float] | None
    """For a schedule: the longest unsuccessful run of each algorithm on the instance."""
    maker: int = 0
    """The `identity` of the selector; 0: not known."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """Which algorithm to run on an instance, for how long, and the scores of all algorithms on offer.

    >>> decision = Decision(0, "i1", "kissat", 60.0, 60.0, {"kissat": 0.2, "minisat": 0.7}, "lowest score")
    >>> decision
    Decision(0: kissat for 60 s on 'i1', lowest score of 2)
    >>> Decision.from_dict(decision.to_dict()) == decision
    True
    """

    id: int
    """The decision's number, counted from 0 by the selector that made it."""
    instance: str | None
    algorithm: str
    budget: float
    """Seconds for this run; at most `cutoff` - `spent`."""
    cutoff: float
    """Seconds after which the instance counts as unsolved, all its runs and features together."""
    scores: Mapping[str, float]
    """Score per offered algorithm, the lower the better, in the unit of the selector's loss."""
    reason: str
    """Why this one: 'first run', 'exploration' or 'lowest score'; schedules may have other reasons."""
    stage: int = 0
    """The number of earlier runs on this instance; more than 0 only for schedules."""
    spent: float = 0.0
    """Seconds used on the instance before this run, features included."""
    origin: Origin | None = field(default=None, compare=False)
    """What `explain` needs."""

    def __repr__(self) -> str:
        place = "" if self.instance is None else f" on {self.instance!r}"
        run = f"{self.algorithm} for {self.budget:.4g} s{place}"
        return f"Decision({self.id}: {run}, {self.reason} of {len(self.scores)})"

    def _repr_html_(self) -> str:
        """Show the scores, the lowest first."""
        rows = sorted(self.scores.items(), key=lambda row: (math.isnan(row[1]), row[1]))
        return html_table(repr(self), ["algorithm", "score"], rows)

    def explain(self, *, top: int = 5) -> Explanation:
        """Return why it was made, with the `top` features of the largest weight; best called at once.

        `Explanation.outcomes_since` says whether the selector has learned since.

        >>> from tailcut import Selector
        >>> selector = Selector("thompson", algorithms=["a", "b"], cutoff=60)
        >>> print(selector.select([1.0, 2.0]).explain())  # nothing is known yet
        a for at most 60 s, because it has not run before
               runs  score  runtime (90% interval)  timeout  expected PAR10
          > a     1   -1.1      1 s (0.058 - 17 s)       1%           8.7 s
            b     0   -0.8      1 s (0.058 - 17 s)       1%           8.7 s
        """
        selector = None if self.origin is None else self.origin.selector()
        if selector is None:
            raise NotExplainedError(
                f"decision {self.id} does not know its selector any more; ask the selector: "
                "selector.explain(decision)"
            )
        explanation: Explanation = selector.explain(self, top=top)
        return explanation

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as JSON values, without what only an explanation needs."""
        scores = {name: score if math.isfinite(score) else None for name, score in self.scores.items()}
        return {**{name: getattr(self, name) for name in _DECISION}, "scores": scores}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Decision:
        """Return the decision that `to_dict` turned into `values`; other keys are ignored."""
        given = {name: values[name] for name in _DECISION}
        given["scores"] = {k: math.nan if v is None else v for k, v in given["scores"].items()}
        return Decision(**given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the selector out of a copy, for example in another process."""
        origin = None if self.origin is None else self.origin._replace(selector=_no_selector)
        return Decision, (*(getattr(self, name) for name in _DECISION), origin)


_DECISION = tuple(field.name for field in fields(Decision) if field.name != "origin")


class Status(enum.Enum):
    """How a run ended."""

    SOLVED = "solved"
    CENSORED = "censored"
    FAILED = "failed"
    RATED = "rated"
    """Its answer was rated by a loss, not by its time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known about a run after it ended: solved at t, censored at t, failed, or rated by a loss.

    Build it with one of the named constructors:

    >>> Outcome.solved(12.5)
    Outcome(status=<Status.SOLVED: 'solved'>, time=12.5)
    >>> Outcome.censored(300).time
    300.0
    >>> Outcome.failed().time is None
    True
    >>> Outcome.solved(float("nan"))
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: runtime must be a finite number of seconds >= 0, got nan
    """

    status: Status
    time: float | None
    """Seconds the run took (solved), or was watched (censored); None for a failure or a loss."""
    loss: float | None = None
    """How bad the answer was, from 0 (best) to 1 (worst); for rated runs only."""

    def __repr__(self) -> str:
        loss = "" if self.loss is None else f", loss={self.loss}"
        return f"Outcome(status={self.status!r}, time={self.time}{loss})"

    @property
    def answered(self) -> bool:
        """Whether the run gave an answer, so that its instance is done."""
        return self.status is Status.SOLVED or self.status is Status.RATED

    @staticmethod
    def solved(runtime: float) -> Outcome:
        """Return the outcome of a run that solved its instance after `runtime` seconds."""
        return Outcome(Status.SOLVED, check_seconds("runtime", runtime))

    @staticmethod
    def censored(at: float) -> Outcome:
        """Return the outcome of a run that was stopped unsolved after `at` seconds."""
        seconds = check_seconds("censored_at", at)
        if seconds == 0.0:
            raise InputError(
                "censored_at must be more than 0 seconds: a run that never started teaches nothing",
                field="censored_at",
            )
        return Outcome(Status.CENSORED, seconds)

    @staticmethod
    def failed() -> Outcome:
        """Return the outcome of a run that ended without an answer: crashed, out of memory, wrong.

        A failed run would not have solved the instance with more time either, so selectors learn it as
        censored at the cutoff.
        """
        return Outcome(Status.FAILED, None)

    @staticmethod
    def rated(loss: float, *, best: float = 0.0, worst: float = 1.0) -> Outcome:
        """Return the outcome of a run whose answer is worth `loss`, on a scale from `best` to `worst`.

        If higher values are better, `best` is the larger bound. A value out of bounds is an error.

        >>> Outcome.rated(0.37)
        Outcome(status=<Status.RATED: 'rated'>, time=None, loss=0.37)
        >>> Outcome.rated(75.0, best=100.0, worst=0.0).loss
        0.25
        >>> Outcome.rated(1.5)
        Traceback (most recent call last):
            ...
        tailcut.errors.InputError: loss must be a number from 0 to 1, got 1.5
        """
        ends = [as_number(best), as_number(worst)]
        if not all(map(math.isfinite, ends)) or ends[0] == ends[1]:
            raise InputError(
                f"best and worst must be two different finite numbers, got {best!r} and {worst!r}",
                field="loss",
            )
        value = as_number(loss)
        if not min(ends) <= value <= max(ends):
            raise InputError(
                f"loss must be a number from {min(ends):g} to {max(ends):g}, got {loss!r}", field="loss"
            )
        share = (value - ends[0]) / (ends[1] - ends[0])
        return Outcome(Status.RATED, None, min(max(share, 0.0), 1.0))

    @staticmethod
    def one_of(
        outcome: Outcome | None = None,
        runtime: float | None = None,
        censored_at: float | None = None,
        failed: bool = False,
        loss: float | None = None,
    ) -> Outcome:
        """Return the one outcome that was given, in any of its forms."""
        given = sum(form is not None for form in (outcome, runtime, censored_at, loss, failed or None))
        if given != 1:
            raise InputError(
                f"give exactly one of outcome, runtime, censored_at, loss and failed=True; got {given}",
                field="outcome",
            )
        if runtime is not None:
            return Outcome.solved(runtime)
        if censored_at is not None:
            return Outcome.censored(censored_at)
        if loss is not None:
            return Outcome.rated(loss)
        if outcome is not None and not isinstance(outcome, Outcome):
            raise InputError(f"outcome must be an Outcome, got {outcome!r}", field="outcome")
        return Outcome.failed() if outcome is None else outcome


class Progress(NamedTuple):
    """The state of one instance when a run on it is chosen."""

    cutoff: float
    """Seconds after which the instance counts as unsolved."""
    used: float
    """Seconds used on it so far, features included."""
    failed: Array | None
    """The longest unsuccessful run of each algorithm on it, shape (K,): 0 if it has not run, the cutoff if it
    failed. None for policies that pick once."""
    begun: int = -1
    """Which instance it is: the number of the first decision on it, -1 if there was none."""

    @property
    def left(self) -> float:
        """Seconds left until the cutoff.

        >>> Progress(cutoff=60.0, used=12.5, failed=None).left
        47.5
        """
        return self.cutoff - self.used


class Belief(NamedTuple):
    """What a model predicts for all K algorithms on one instance."""

    mean: Array
    """Predicted target (log-seconds or seconds), shape (K,)."""
    variance: Array
    """Variance of that prediction for unit noise, x'A^-1 x for a ridge model, shape (K,)."""
    censored: Array
    """The number of unsolved runs of each algorithm so far, shape (K,)."""


class Estimate(NamedTuple):
    """What exploration turns a belief into: an optimistic and a pessimistic value, and a spread.

    A sample, or a plain mean, is an estimate whose two values are the same array.
    """

    low: Array
    """Optimistic target, shape (K,)."""
    high: Array
    """Pessimistic target, shape (K,); the same object as `low` where there is only one value."""
    spread: Array
    """Standard deviation of the log-runtime around these, shape (K,)."""


class Forecasts(NamedTuple):
    """Predicted runs of K algorithms on one instance, each array of shape (K,)."""

    median: Array
    """Seconds."""
    low: Array
    """Seconds that one run in twenty falls below."""
    high: Array
    """Seconds that one run in twenty exceeds."""
    timeout: Array
    """Probability that a run does not finish in the time that is left."""
    expected_par: Array
    """Expected PARk in seconds."""
    penalty: float
    """Its k."""


class Quantity(NamedTuple):
    """What a number is, in words, and its unit: 's', 'log s', or '' where it has none."""

    label: str
    unit: str


class SelectorLike(Protocol):
    """The methods of a selector, whether local, in a journal or behind HTTP.

    `tailcut.Selector`, `tailcut.journal.Project` and `tailcut.service.client.RemoteProject` are checked
    against it. The keywords, and what they are if left out, are those of `tailcut.Selector`.
    """

    def select(self, features: Features = None, **options: Unpack[RequestOptions]) -> Decision:
        """Return which algorithm to run on an instance, and for how long."""

    def race(
        self,
        features: Features = None,
        *,
        k: int,
        running: Mapping[str, float] | None = None,
        failed: Mapping[str, float] | None = None,
        **options: Unpack[RequestOptions],
    ) -> list[Decision]:
        """Return up to `k` runs to make at once on an instance: those that are best together."""

    def observe(
        self, decision: Decision | int, outcome: Outcome | None = None, **form: Unpack[OutcomeOptions]
    ) -> bool:
        """Learn how a decision went; False: that was known already."""

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Return what to run next on the instance of a decision that was observed; None: it is over."""

    def fit(self, scenario: Recorded, *, known: NDArray[np.bool_] | None = None) -> int:
        """Learn from recorded runs; return how many there were."""

    def feature_budget(self, *, cutoff: float | None = None) -> float:
        """Return how many seconds computing the next instance's features may take; 0: skip them."""

    def consider(
        self, features: Features = None, *, top: int = 5, **options: Unpack[ConsiderOptions]
    ) -> Explanation:
        """Return what would be chosen for an instance, and why, without deciding or learning."""

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision was made, by what the selector believes now."""

    def add_algorithm(self, name: str) -> None:
        """Offer one more algorithm from now on."""

    def remove_algorithm(self, name: str) -> None:
        """Stop offering an algorithm and forget what was learned of it."""


def check_names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; raise if one is not a name or appears twice.

    >>> check_names("algorithms", ["a", "b", "a"])
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: algorithms[2] repeats 'a'
    """
    if isinstance(given, str):
        raise InputError(f"{field} must be a list of names, got the single string {given!r}", field=field)
    seen: dict[str, None] = {}
    for position, name in enumerate(given):
        if not isinstance(name, str) or not name:
            raise InputError(f"{field}[{position}] must be a non-empty string, got {name!r}", field=field)
        if name in seen:
            raise InputError(f"{field}[{position}] repeats {name!r}", field=field)
        seen[name] = None
    return tuple(seen)


def check_seconds(field: str, given: float, *, above_zero: bool = False) -> float:
    """Return a finite number of seconds, at least 0 or above 0; raise otherwise.

    >>> check_seconds("cutoff", 0, above_zero=True)
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: cutoff must be a finite number of seconds > 0, got 0
    """
    seconds = given if type(given) is float else as_number(given)
    if not 0.0 <= seconds < math.inf or (above_zero and seconds == 0.0):
        bound = ">" if above_zero else ">="
        raise InputError(f"{field} must be a finite number of seconds {bound} 0, got {given!r}", field=field)
    return seconds


def as_number(given: Any) -> float:
    """Return a number, nan if it is not one; a text or a date is none, and neither is what is too large.

    >>> as_number(2), as_number("2"), as_number(10**400)
    (2.0, nan, nan)
    """
    if isinstance(given, str | bytes | np.datetime64 | np.timedelta64 | np.complexfloating):
        return math.nan
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def as_numbers(field: str, given: Any) -> Array:
    """Return a new array of numbers, nan for None and where one is masked; raise if any is no number.

    >>> as_numbers("features", [1, None]).tolist()
    [1.0, nan]
    >>> as_numbers("features", [1, "2"])
    Traceback (most recent call last):
        ...
    tailcut.errors.InputError: features must be numbers (nan where missing), got '2'
    """
    try:
        values = np.array(given.tolist() if np.ma.isMA(given) else given)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{field} must be numbers: {error}", field=field) from None
    if values.dtype == np.float64:
        return values
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    items = np.array(given, dtype=object) if values.dtype.kind in "US" else values
    wrong = next((item for item in items.ravel() if not _may_be_number(item)), None)
    if wrong is not None:
        raise InputError(f"{field} must be numbers (nan where missing), got {wrong!r:.50}", field=field)
    return np.array([as_number(item) for item in items.ravel()]).reshape(items.shape)


def _may_be_number(item: Any) -> bool:
    """Return whether it is a number, or stands for a missing one: None, nan, or the NA of pandas."""
    missing = item is None or type(item).__name__ == "NAType"
    return missing or not math.isnan(as_number(item)) or (isinstance(item, float) and math.isnan(item))


def check_whole_number(field: str, given: int, at_least: int) -> int:
    """Return a whole number; raise otherwise."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < at_least:
        raise InputError(f"{field} must be a whole number >= {at_least}, got {given!r}", field=field)
    return int(given)
