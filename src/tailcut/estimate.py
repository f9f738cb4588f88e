"""What each single solver would have cost on the instances of a run, with an interval, from its journal.

Costs that are known are taken as they are: of instances on which a solver ran to its end, by choice or to
measure. The others are drawn from the survival forest of `tailcut_schedule`, taught all runs of the journal.
What was run, and for how long, depends on features and on outcomes that were observed, which the forest is
given; so which runs are missing need not be modelled (Rubin, "Inference and missing data", Biometrika 1976).
How far it is off where a solver was not chosen was measured in scenarios in which the truth is known
(docs/howto/saved.md); each draw is moved by as much. A solver that never ran has no estimate, only bounds.

``python -m tailcut.estimate STATE PROJECT`` prints the estimate for the latest instances as a line of JSON.
The service runs that in a separate low-priority process, so that no request waits for it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.catalogue import recipe
from tailcut.errors import TailcutError
from tailcut.journal import EventKind, Journal
from tailcut.journal.instances import Instances, feature_table, time_table
from tailcut.journal.project import make
from tailcut.numerics.randomness import stream
from tailcut.policies.policy import RecordedOutcomes
from tailcut.schedules import HazardSchedule
from tailcut.schedules.view import passed
from tailcut.types import PENALTY, Array, Progress

LATEST = 1_000
"""The number of latest instances that the service's estimate uses."""
LEVEL = 0.9
"""How often an interval should contain the truth."""
DRAWS = 150
DOUBT, DOUBT_UNSOLVED = 0.8, 1.2
"""By how much the model may be off where a solver has solved something, and where it has not: deviations of
the log-odds of what it costs on the instances it was not chosen for."""
ENOUGH = 0.95
"""A run that was watched for this share of its cutoff counts as a timeout: features take the rest."""


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
        """Return it as plain values."""
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


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """What is known about K solvers on n instances; recorded ones help to predict but are not averaged over.

    >>> table = OutcomeTable(("a", "b"), np.full(2, 10.0), np.zeros((2, 0)),
    ...     seconds=np.array([[1.0, 2.0], [10.0, 3.0]]), solved=np.array([[True, False], [False, True]]),
    ...     served=np.ones(2, bool))
    >>> table.known.tolist()
    [[True, False], [True, True]]
    >>> table.lowest.tolist(), table.highest.tolist()
    ([50.5, 2.5], [50.5, 51.5])
    """

    algorithms: tuple[str, ...]
    cutoffs: Array
    """Seconds that a solver alone would have had, shape (n,)."""
    features: Array
    """nan where missing, shape (n, d)."""
    seconds: Array
    """The runtime, or how long it was watched unsolved; 0 if it did not run, shape (n, K)."""
    solved: NDArray[np.bool_]
    """Whether it solved the instance, within its cutoff or later, shape (n, K)."""
    served: NDArray[np.bool_]
    """Which instances the run was asked for, shape (n,)."""

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Which solvers ran on which instances, shape (n, K)."""
        return np.asarray((self.seconds > 0.0) | self.solved)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which costs are known: solved, or watched for as good as the whole cutoff, shape (n, K)."""
        return np.asarray(self.solved | (self.seconds >= ENOUGH * self.cutoffs[:, None]))

    @property
    def most(self) -> Array:
        """The most that each solver may cost on each instance, shape (n, K)."""
        cutoffs = self.cutoffs[:, None]
        return np.where(self.solved & (self.seconds <= cutoffs), self.seconds, PENALTY * cutoffs)

    @property
    def lowest(self) -> Array:
        """The least that each solver may have cost per instance served, whatever is assumed, shape (K,)."""
        return np.asarray(np.where(self.known, self.most, self.seconds)[self.served].mean(axis=0))

    @property
    def highest(self) -> Array:
        """The most that each solver may have cost per instance served, whatever is assumed, shape (K,)."""
        return np.asarray(self.most[self.served].mean(axis=0))


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
    exact, tried = known.all(axis=0), ran.any(axis=0)
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

    drawn = np.array([costs[table.served].mean(axis=0) for costs in _draws(table, seed)])
    lowest, range_ = table.lowest, table.highest - table.lowest
    share = np.clip((drawn - lowest) / np.where(range_ > 0.0, range_, 1.0), 1e-6, 1.0 - 1e-6)
    doubt = np.where(table.solved.any(axis=0), DOUBT, DOUBT_UNSOLVED)
    # The same shifts for every solver, evenly spaced, so that no interval is wider by chance.
    rng, ranks = stream(seed, "doubt about the model"), (np.arange(len(drawn)) + 0.5) / len(drawn)
    moves = np.array([rng.permutation(ndtri(ranks)) for _ in table.algorithms]).T
    return np.asarray(lowest + range_ * expit(logit(share) + doubt * moves))


def _draws(table: OutcomeTable, seed: int) -> Iterator[Array]:
    """Yield what every solver may have cost on every instance, shape (n, K), draw after draw.

    Of each instance, its class is drawn (how hard it is, or which past instance it is like), given how all
    runs on it went; of each solver, its skill. Then each run goes on from where it was stopped.
    """
    from scipy.special import expit

    policy = _taught(table, seed)
    odds, classes = [], []
    for row in range(len(table.seconds)):
        view = policy.view(policy.peek(table.features[row]))
        likely = np.ones(len(view.classes))
        for solver in np.flatnonzero(table.ran[row]).tolist():
            ended = float(table.seconds[row, solver]), bool(table.solved[row, solver])
            likely = likely * view.answered(solver, passed(0.0, *ended, policy.cuts))
            likely /= max(float(likely.max()), 1e-300)
        odds.append(view.odds)
        classes.append(np.cumsum(view.given(likely)))
    rng, skills = stream(seed, "single solver costs"), policy.hazards
    watched, cutoffs = table.seconds, table.cutoffs[:, None]
    for _ in range(DRAWS):
        picked = [min(int(likely.searchsorted(rng.random())), len(likely) - 1) for likely in classes]
        drawn = np.array([given[:, :, one] for given, one in zip(odds, picked, strict=True)])
        drawn += (np.sqrt(skills.skill_variance) * rng.standard_normal(len(skills.skill)))[:, None]
        chance = expit(drawn + np.sqrt(skills.turn_variance) * rng.standard_normal(skills.turn.shape))
        time, start = np.full(watched.shape, np.inf), 0.0
        for j, end in enumerate(policy.cuts.tolist()):
            # Of the interval in which watching ended, the chance of what is left of it.
            left = np.clip((end - watched) / (end - start), 0.0, 1.0)
            won = (rng.random(watched.shape) < chance[:, :, j] * left) & np.isinf(time)
            begin = np.maximum(start, watched)
            time = np.where(won, begin + (end - begin) * rng.random(watched.shape), time)
            start = end
        yield np.where(table.known, table.most, np.where(time <= cutoffs, time, PENALTY * cutoffs))


def _taught(table: OutcomeTable, seed: int) -> HazardSchedule:
    """Return the policy of `tailcut_schedule`, taught all runs, instances in a random order."""
    row, cutoff = recipe("tailcut_schedule"), float(table.cutoffs.max())
    n, d = table.features.shape
    policy = row.build(
        row.settings({}), n_algorithms=len(table.algorithms), n_features=d, cutoff=cutoff, seed=seed
    )
    assert isinstance(policy, HazardSchedule)
    in_time = table.solved & (table.seconds <= cutoff)
    seconds = np.minimum(table.seconds, cutoff)
    runs = RecordedOutcomes(seconds, in_time, table.ran, np.where(in_time, cutoff, seconds))
    x, order = policy.represent(table.features), stream(seed, "warm start").permutation(n)
    policy.learn_recorded(x[order], runs.at(order), Progress(cutoff, 0.0, np.zeros(len(table.algorithms))))
    return policy


def latest_estimate(path: Path, project: str) -> dict[str, object]:
    """Return the estimate for the latest instances of a project; None if none is completed."""
    with Journal(path, read_only=True) as journal:
        number = journal.projects()[project]
        selector = make(journal.description(number))
        names = list(selector.algorithms)
        served = Instances(selector.cutoff, schedules=selector.schedules, most=LATEST)
        for event in journal.events(number):
            served.take(event)
            if event.kind is EventKind.ADD_ALGORITHM:
                names.append(event.body["algorithm"])
            elif event.kind is EventKind.REMOVE_ALGORITHM:
                names.remove(event.body["algorithm"])
    estimated = estimate_run(served, names)
    return {"last_event": served.last_event, "estimate": None if estimated is None else estimated.as_dict()}


if __name__ == "__main__":
    os.nice(10)
    try:
        sys.stdout.write(json.dumps(latest_estimate(Path(sys.argv[1]), sys.argv[2])) + "\n")
    except TailcutError as error:
        sys.exit(f"tailcut: {error}")
