"""A decision that was made earlier, maybe by a process that is gone, with what its explanation needs."""

from __future__ import annotations

from dataclasses import replace
from weakref import ref

import numpy as np

from tailcut.errors import NotExplainedError
from tailcut.explain.explainer import Judging
from tailcut.journal import events
from tailcut.journal.records import Event
from tailcut.policies.one_pick import Policy
from tailcut.policies.validation import FeatureReader
from tailcut.selector import Selector
from tailcut.types import Array, Decision


def recall(selector: Selector, event: Event) -> Decision:
    """Return the decision of an event as if `selector` had just made it, or say that it cannot be.

    Where the outcome is known, the instance is represented as it would be today.
    """
    decision = events.decision_of(event)
    assert decision is not None
    given = event.body.get("features")  # a schedule's later runs do not repeat them
    # A copy of the reader, since reading may settle names and number.
    reader = FeatureReader(selector._features.names, selector._features.width)
    features = None if given is None and event.kind != events.SELECT else reader.read(given)
    ledger = selector._ledger
    run = ledger.pending.get(decision.id) or ledger.open.get(decision.id)
    x = _represented(selector, features, decision.id) if run is None else run.x
    failed = None if run is None else run.failed
    if failed is None and selector.schedules:
        failed = {}
    origin = (ref(selector), features, x, event.body["details"]["learned"], failed)
    return replace(decision, origin=origin)


def _represented(selector: Selector, features: Array | None, number: int) -> Array:
    policy = selector._policy
    if isinstance(policy, Policy | Judging):
        if features is None:
            raise NotExplainedError(f"decision {number} was observed: what it was made with is gone")
        return (
            policy.parts.representation.peek(features)
            if isinstance(policy, Policy)
            else policy.peek(features)
        )
    return np.zeros(0)
