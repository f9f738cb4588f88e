"""What each single solver would have cost on the instances of a run, with an interval, from its journal.

Costs that are known are taken as they are: of instances on which a solver ran to its end, by choice or to
measure. The others are drawn from a model of all runs (`survival_model`), which is only a model: how far it
is off where a solver was not chosen was measured in scenarios in which the truth is known
(docs/howto/saved.md); each draw is moved by as much. A solver that never ran has no estimate, only bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tailcut.estimate.survival_model import OutcomeTable, draw_costs
from tailcut.journal.instances import Instances, feature_table, time_table
from tailcut.numerics.randomness import stream
from tailcut.types import Array

LEVEL = 0.9
"""How often an interval should contain the truth."""
DOUBT, DOUBT_UNSOLVED = 0.6, 1.2
"""By how much the model may be off where a solver has solved something, and where it has not: deviations of
the log-odds of what it costs on the instances it was not chosen for."""


@dataclass(frozen=True)
class SingleSolverEstimate:
    """What one solver alone would have cost, in seconds of PAR10 per instance."""

    name: str
    par10: float | None
    """The estimate; None: it never ran, so there is none."""
    low: float
    high: float
    """The ends of its interval; for a solver that never ran, the bounds that need no model."""
    known: int
    """On how many of the instances its cost is known, so no estimate is needed."""
    ran: int
    """The number of instances on which it ran."""
    exact: bool
    """Whether its cost is known on all of them: then this is no estimate."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run cost, and what each single solver would have cost on the same instances."""

    instances: int
    """How many of the run's instances it is about; all of them are over."""
    par10: float
    """What the run cost per instance, features included."""
    solvers: tuple[SingleSolverEstimate, ...]
    """The lowest estimate first, those without one last."""

    @property
    def best(self) -> SingleSolverEstimate | None:
        """The solver with the lowest estimate; None: no solver has one."""
        return next((solver for solver in self.solvers if solver.par10 is not None), None)

    @property
    def saved(self) -> tuple[float, float, float] | None:
        """Seconds of PAR10 per instance saved against that solver: the estimate, and its interval."""
        best = self.best
        if best is None or best.par10 is None:
            return None
        return best.par10 - self.par10, best.low - self.par10, best.high - self.par10

    def as_dict(self) -> dict[str, Any]:
        saved = self.saved
        return {
            "is_estimate": True,
            "level": LEVEL,
            "instances": self.instances,
            "par10": self.par10,
            "best": None if self.best is None else self.best.name,
            "saved": None if saved is None else dict(zip(("estimate", "low", "high"), saved, strict=True)),
            "solvers": [asdict(solver) for solver in self.solvers],
        }


def estimate_run(served: Instances, algorithms: Sequence[str], *, seed: int = 0) -> RunEstimate | None:
    """Return the estimate for the completed instances of a project; None if there are none."""
    over = served.over
    if not over:
        return None
    instances = [*over, *served.recorded]
    seconds, solved = time_table(instances, algorithms)
    table = OutcomeTable(
        algorithms=tuple(algorithms),
        cutoffs=np.array([instance.cutoff for instance in instances]),
        features=feature_table([instance.features for instance in instances])[1],
        seconds=np.nan_to_num(seconds),
        solved=solved,
        served=np.arange(len(instances)) < len(over),
    )
    paid = float(np.mean([instance.par10 for instance in over]))
    return RunEstimate(len(over), paid, estimate(table, seed=seed))


def estimate(table: OutcomeTable, *, seed: int = 0) -> tuple[SingleSolverEstimate, ...]:
    """Return what each solver alone would have cost on the instances served, the lowest estimate first.

    >>> table = OutcomeTable(("a", "b", "c"), np.full(2, 10.0), np.zeros((2, 0)),
    ...     seconds=np.array([[1.0, 2.0, 0.0], [10.0, 3.0, 0.0]]),
    ...     solved=np.array([[True, False, False], [False, True, False]]), served=np.ones(2, bool))
    >>> b, a, c = estimate(table)
    >>> (a.name, a.exact, a.par10), (c.name, c.par10, c.low, c.high)
    (('a', True, 50.5), ('c', None, 0.0, 100.0))
    >>> b.name, b.known, 2.5 <= b.low < b.par10 < b.high <= 51.5
    ('b', 1, True)
    """
    known, ran = table.known[table.served], table.ran
    exact, tried = np.asarray(known.all(axis=0)), np.asarray(ran.any(axis=0))
    bounds = np.array([table.lowest, table.lowest, table.highest])
    level = ((1.0 - LEVEL) / 2.0, 0.5, (1.0 + LEVEL) / 2.0)
    drawn = bounds if exact[tried].all() else np.quantile(_doubted_draws(table, seed), level, axis=0)
    estimates = []
    for k, name in enumerate(table.algorithms):
        low, middle, high = (drawn if tried[k] and not exact[k] else bounds)[:, k].tolist()
        counts = int(known[:, k].sum()), int(ran[table.served, k].sum())
        par10 = middle if tried[k] or exact[k] else None
        estimates.append(SingleSolverEstimate(name, par10, low, high, *counts, bool(exact[k])))
    return tuple(sorted(estimates, key=lambda one: (one.par10 is None, one.par10 or 0.0, one.name)))


def _doubted_draws(table: OutcomeTable, seed: int) -> Array:
    """Return draws of what every solver costs per instance served, with doubt in the model; (draws, K)."""
    from scipy.special import expit, logit, ndtri

    drawn = np.array([costs[table.served].mean(axis=0) for costs in draw_costs(table, seed)])
    lowest, range_ = table.lowest, table.highest - table.lowest
    share = np.clip((drawn - lowest) / np.where(range_ > 0.0, range_, 1.0), 1e-6, 1.0 - 1e-6)
    doubt = np.where(table.solved.any(axis=0), DOUBT, DOUBT_UNSOLVED)
    # The same shifts for every solver, evenly spaced, so that no interval is wider by chance.
    rng, ranks = stream(seed, "doubt about the model"), (np.arange(len(drawn)) + 0.5) / len(drawn)
    moves = np.array([rng.permutation(ndtri(ranks)) for _ in table.algorithms]).T
    return np.asarray(lowest + range_ * expit(logit(share) + doubt * moves))
