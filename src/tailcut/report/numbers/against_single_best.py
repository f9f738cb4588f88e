"""Instance by instance: what a selector paid, and what the single best solver takes for the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailcut.bench.labels import ContenderKind, kind_of
from tailcut.types import Array


@dataclass(frozen=True)
class InstanceScatter:
    """n instances of one scenario in the order of one seed."""

    scenario: str
    selector: str
    seed: int
    single_best: Array
    """PARk loss of the single best solver, shape (n,)."""
    paid: Array
    """PARk loss of the selector, shape (n,)."""
    cutoff: float

    @property
    def better(self) -> int:
        """On how many instances the selector paid less."""
        return int((self.paid < self.single_best).sum())

    @property
    def worse(self) -> int:
        """On how many it paid more."""
        return int((self.paid > self.single_best).sum())


def against_single_best(
    scenario: str,
    ordered: Sequence[str],
    losses: Mapping[str, Mapping[int, Array]],
    cutoff: float | None,
) -> InstanceScatter | None:
    """Return the best selector that has results, against `sbs`; None where either or the cutoff is missing.

    `ordered` names the selectors, the best first; `losses` maps selector -> seed -> losses per step.
    """
    reference = losses.get("sbs", {})
    for selector in ordered:
        if kind_of(selector) is ContenderKind.BASELINE or cutoff is None:
            continue
        for seed, paid in sorted(losses.get(selector, {}).items()):
            if seed in reference:
                return InstanceScatter(scenario, selector, seed, reference[seed], paid, cutoff)
    return None
