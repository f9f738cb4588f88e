"""Estimates what each single solver would have cost on the instances of a run, with an interval.

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

from tailcut.estimate.feature_basis import basis
from tailcut.estimate.outcome_table import OutcomeTable
from tailcut.estimate.survival_model import SurvivalModel
from tailcut.journal.served_instances import PlainFeatures, ServedInstances, SolverFate
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
        return next((one for one in self.solvers if one.par10 is not None), None)

    @property
    def saved(self) -> tuple[float, float, float] | None:
        """Seconds of PAR10 per instance saved against that solver: the estimate, and its interval."""
        best = self.best
        if best is None or best.par10 is None:
            return None
        return best.par10 - self.par10, best.low - self.par10, best.high - self.par10

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        saved = self.saved
        return {
            "is_estimate": True,
            "level": LEVEL,
            "instances": self.instances,
            "par10": self.par10,
            "best": None if self.best is None else self.best.name,
            "saved": None if saved is None else dict(zip(("estimate", "low", "high"), saved, strict=True)),
            "solvers": [asdict(one) for one in self.solvers],
        }


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
    served, known = table.served, table.known[table.served]
    lowest, highest = table.lowest, table.highest
    ran = (table.seconds > 0.0) | table.solved
    draws = None if known[:, ran.any(axis=0)].all() else _draws(table, seed)
    found = []
    for k, name in enumerate(table.algorithms):
        exact = bool(known[:, k].all())
        middle: float | None = float(lowest[k])
        low, high = float(lowest[k]), float(highest[k])
        if not exact and not ran[:, k].any():
            middle = None
        elif not exact:
            assert draws is not None
            level = ((1.0 - LEVEL) / 2.0, 0.5, (1.0 + LEVEL) / 2.0)
            low, middle, high = np.quantile(draws[:, k], level).tolist()
        found.append(
            SingleSolverEstimate(
                name, middle, low, high, int(known[:, k].sum()), int(ran[served, k].sum()), exact
            )
        )
    return tuple(sorted(found, key=lambda one: (one.par10 is None, one.par10 or 0.0, one.name)))


def _draws(table: OutcomeTable, seed: int) -> Array:
    """Return draws of what every solver costs per instance served, shape (draws, K)."""
    model = SurvivalModel(table, basis(table.features), seed)
    drawn = np.array([costs[table.served].mean(axis=0) for costs in model.draws()])
    lowest, range_ = table.lowest, table.highest - table.lowest
    share = np.clip((drawn - lowest) / np.where(range_ > 0.0, range_, 1.0), 1e-6, 1.0 - 1e-6)
    doubt = np.where(table.solved.any(axis=0), DOUBT, DOUBT_UNSOLVED)
    # The same shifts for every solver, evenly spaced, so that no interval is wider by chance.
    rng, ranks = stream(seed, "doubt about the model"), (np.arange(len(drawn)) + 0.5) / len(drawn)
    from scipy.special import expit, logit, ndtri

    moves = np.array([rng.permutation(ndtri(ranks)) for _ in table.algorithms]).T
    return np.asarray(lowest + range_ * expit(logit(share) + doubt * moves))


def estimate_run(served: ServedInstances, algorithms: Sequence[str], *, seed: int = 0) -> RunEstimate | None:
    """Return the estimate for the completed instances of a project; None if there are none."""
    over = served.over
    if not over:
        return None
    rows: list[tuple[PlainFeatures, float, dict[str, SolverFate]]]
    rows = [(one.features, one.cutoff, one.fates) for one in over]
    rows += [(one.features, one.cutoff, one.fates) for one in served.recorded]
    names = tuple(algorithms)
    seconds, solved = np.zeros((len(rows), len(names))), np.zeros((len(rows), len(names)), dtype=np.bool_)
    for row, (_, _, fates) in enumerate(rows):
        for column, name in enumerate(names):
            if name in fates:
                seconds[row, column], solved[row, column] = fates[name]
    table = OutcomeTable(
        algorithms=names,
        cutoffs=np.array([cutoff for _, cutoff, _ in rows]),
        features=_features([features for features, _, _ in rows]),
        seconds=seconds,
        solved=solved,
        served=np.arange(len(rows)) < len(over),
    )
    paid = float(np.mean([one.par10 for one in over]))
    return RunEstimate(len(over), paid, estimate(table, seed=seed))


def _features(given: Sequence[PlainFeatures]) -> Array:
    """Return features as a table, nan where missing; those with names are matched by name."""
    columns: dict[str | int, int] = {}
    for one in given:
        for key in one if isinstance(one, dict) else range(len(one or ())):
            columns.setdefault(key, len(columns))
    table = np.full((len(given), len(columns)), np.nan)
    for row, one in enumerate(given):
        pairs = one.items() if isinstance(one, dict) else enumerate(one or ())
        for key, value in pairs:
            if value is not None:
                table[row, columns[key]] = value
    return table
