"""What the events of a project say, and how a selector repeats them.

An event holds what went in and which decision came out. Selectors are deterministic, so repeating the
events of a project gives its selector back, and a decision that differs from the one written down is found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tailcut.errors import JournalError
from tailcut.journal.records import Event
from tailcut.selector import Selector
from tailcut.types import Decision, Features, Outcome, Status

SELECT, OBSERVE, PROCEED = "select", "observe", "proceed"
ADD, REMOVE = "add algorithm", "remove algorithm"
REMARK = "remark"
"""Something that users of a project want kept; it is no step of the selector."""


def plain_features(features: Features) -> list[float | None] | dict[str, float | None] | None:
    """Return features as JSON values; a missing one is null.

    >>> plain_features([1.5, float("nan")]), plain_features({"size": 3})
    ([1.5, None], {'size': 3.0})
    """
    if features is None:
        return None
    if isinstance(features, Mapping):
        return {name: _number(value) for name, value in features.items()}
    if isinstance(features, list) and _ordinary(features):
        return list(features)
    return [_number(value) for value in features]


def _ordinary(values: Sequence[Any]) -> bool:
    """Tell quickly that all are finite numbers; where it is not sure, it says no."""
    try:
        return type(sum(values, 0.0)) is float and math.isfinite(sum(values))
    except (TypeError, OverflowError):
        return False


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def told(decision: Decision | None) -> dict[str, Any] | None:
    """Return of a decision what is written down."""
    if decision is None:
        return None
    return {
        "id": decision.id,
        "algorithm": decision.algorithm,
        "budget": decision.budget,
        "stage": decision.stage,
        "reason": decision.reason,
    }


def details(decision: Decision | None) -> dict[str, Any]:
    """Return what else is written down of a decision, so that it can be told and explained again.

    None of it is compared when the event is repeated.
    """
    if decision is None:
        return {}
    scores = {name: score if math.isfinite(score) else None for name, score in decision.scores.items()}
    learned = 0 if decision.origin is None else decision.origin.learned
    return {
        "instance": decision.instance,
        "cutoff": decision.cutoff,
        "spent": decision.spent,
        "scores": scores,
        "learned": learned,
    }


def decision_of(event: Event) -> Decision | None:
    """Return the decision that an event made, as far as it is written down; None: it made none."""
    made, more = event.body["decision"], event.body.get("details")
    if made is None:
        return None
    if more is None:
        raise JournalError(f"event {event.number} was written before decisions could be told again")
    scores = {name: math.nan if score is None else score for name, score in more["scores"].items()}
    return Decision(
        made["id"],
        more["instance"],
        made["algorithm"],
        made["budget"],
        more["cutoff"],
        scores,
        made["reason"],
        made["stage"],
        more["spent"],
    )


def outcome_of(body: Mapping[str, Any]) -> Outcome:
    """Return the outcome that an observation holds."""
    return Outcome(Status(body["status"]), body["time"])


def repeat(selector: Selector, event: Event) -> Decision | None:
    """Let a selector take the step that an event tells of; return its decision, if it made one."""
    body = event.body
    match event.kind:
        case "select":
            return _same(event, _select(selector, body))
        case "observe":
            selector.observe(body["decision"], outcome_of(body))
        case "proceed":
            return _same(event, selector.proceed(body["after"], spent=body["spent"]))
        case "add algorithm":
            selector.add_algorithm(body["algorithm"])
        case "remove algorithm":
            selector.remove_algorithm(body["algorithm"])
        case "remark":
            pass
        case unknown:
            raise JournalError(f"event {event.number}: {unknown!r} is not known to this Tailcut")
    return None


def _select(selector: Selector, body: Mapping[str, Any]) -> Decision:
    given: Sequence[float] | Mapping[str, float] | None = body["features"]
    return selector.select(
        given,
        instance=body["instance"],
        cutoff=body["cutoff"],
        among=body["among"],
        spent=body["spent"],
        feature_cost=body.get("feature_cost", 0.0),
    )


def _same(event: Event, decision: Decision | None) -> Decision | None:
    """Return a decision that was made again, or say that it differs from the one written down."""
    before, now = event.body["decision"], told(decision)
    if now != before:
        raise JournalError(
            f"event {event.number}: the decision was {_words(before)}, and is {_words(now)} when repeated; "
            "the journal was written by another version of Tailcut, or on another kind of machine"
        )
    return decision


def _words(decision: Mapping[str, Any] | None) -> str:
    return "to give up" if decision is None else f"{decision['algorithm']} for {decision['budget']:g} s"
