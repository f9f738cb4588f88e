"""The protocol of a selector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from tailcut.policies.recorded_runs import Recorded
from tailcut.types import (
    ConsiderOptions,
    Decision,
    Features,
    Outcome,
    OutcomeOptions,
    RequestOptions,
)

if TYPE_CHECKING:
    from tailcut.explain import Explanation


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
