"""What each single solver would have cost on the instances of a run, with an interval, from its journal.

Costs that are known are taken as they are. The others are drawn from a model of all runs. How far it is off
where a solver was not chosen was measured where the truth is known (docs/howto/saved.md); each draw is moved
by as much. A solver that never ran has no estimate, only bounds.

``python -m tailcut.estimate STATE PROJECT`` prints the estimate for the latest instances as a line of JSON.
The service runs it in a separate low-priority process, so that no request waits for it.

The model is one of how long solvers take. Time is cut into intervals. That solver a solves instance i within
interval j, given that it had not before, has the chance Phi(v) with

    v = level[j] + turn[a, j] + skill[a] + x[i]'(common + own[a]) + ease[i]

where x[i] are a few coordinates of the instance (`basis`). Levels and turns say how solutions spread over
time; ease[i] is what all solvers find easy or hard about an instance beyond its features (a frailty). All
terms but the levels are normal around 0, and how large each kind is, is learned too. This is what makes an
interval wide where a solver was never tried on instances like these.

The posterior is drawn by Gibbs sampling with normal latent variables (Albert and Chib, "Bayesian analysis
of binary and polychotomous response data", JASA 1993). What was run, and for how long, depends on features
and on outcomes that were observed, which the model is given; so which cells are missing need not be modelled
(Rubin, "Inference and missing data", Biometrika 1976).

Why a second survival model beside the forest of `tailcut.schedules`: the forest, taught the same runs, is as
good on the nine scenarios of docs/howto/saved.md. Where instances come in families that each suit one solver
(the bundled scenario), its error is 0.19 of ten cutoffs against 0.14: a tree takes a solver to be as good in
a family where it never ran as where it was chosen because it is good.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.errors import TailcutError
from tailcut.journal import EventKind, Journal
from tailcut.journal.instances import Instances, feature_table, time_table
from tailcut.journal.project import make
from tailcut.numerics.randomness import stream
from tailcut.types import PENALTY, Array

LEVEL = 0.9
"""How often an interval should contain the truth."""
DOUBT, DOUBT_UNSOLVED = 0.6, 1.2
"""By how much the model may be off where a solver has solved something, and where it has not: deviations of
the log-odds of what it costs on the instances it was not chosen for."""
LATEST = 1_000
"""The number of latest instances that are used."""
ENOUGH = 0.95
"""A run that was watched for this share of its cutoff counts as a timeout: features take the rest."""
COMPONENTS = 8
"""The most principal components of the features that are used."""
CUTS = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
"""Ends of the intervals, as shares of the longest cutoff."""
FIRST_SWEEPS, SWEEPS, EVERY = 150, 750, 5
"""Sweeps that are not used, those that are, and how many of these lie between two draws."""
_MIDDLE, _WIDTH = -1.6, 1.0
"""What is believed about a level before anything is seen: a chance of about 5%."""
_SHAPE = 3.0
TYPICAL = {"turn": 0.1, "skill": 0.5, "own": 2.5, "common": 4.0, "ease": 1.5}
"""Variances of each kind of term in fully measured scenarios: what is believed before anything is seen, by an
inverse gamma distribution of this shape around them."""


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
    """Return what each solver alone would have cost on the instances served, the lowest estimate first."""
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

    model, costs = _Sampler(table, basis(table.features), stream(seed, "single solver costs")), []
    for sweep in range(FIRST_SWEEPS + SWEEPS):
        model.sweep()
        if sweep >= FIRST_SWEEPS and sweep % EVERY == 0:
            costs.append(model.costs()[table.served].mean(axis=0))
    drawn = np.array(costs)
    lowest, range_ = table.lowest, table.highest - table.lowest
    share = np.clip((drawn - lowest) / np.where(range_ > 0.0, range_, 1.0), 1e-6, 1.0 - 1e-6)
    doubt = np.where(table.solved.any(axis=0), DOUBT, DOUBT_UNSOLVED)
    # The same shifts for every solver, evenly spaced, so that no interval is wider by chance.
    rng, ranks = stream(seed, "doubt about the model"), (np.arange(len(drawn)) + 0.5) / len(drawn)
    moves = np.array([rng.permutation(ndtri(ranks)) for _ in table.algorithms]).T
    return np.asarray(lowest + range_ * expit(logit(share) + doubt * moves))


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """What is known about K solvers on n instances; recorded ones only help to predict."""

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


def basis(features: Array) -> Array:
    """Return the leading principal components of features, (n, d) -> (n, q); rows have a mean square of 1.

    Features are standardised after a signed logarithm; a missing one lies in the middle.
    Instances without any features lie in the middle of all.
    """
    n = len(features)
    with np.errstate(over="ignore"):
        values = np.copysign(np.log1p(np.abs(features)), features)
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    varied = spread > 1e-9
    scaled = centred[:, varied] / spread[varied]
    q = min(COMPONENTS, scaled.shape[1], n // 10 + 1)
    if not q:
        return np.zeros((n, 0))
    left, size, _ = np.linalg.svd(scaled, full_matrices=False)
    scores = left[:, :q] * size[:q]
    kept = scores[:, size[:q] > 1e-9 * size[0]]
    return np.asarray(kept / np.sqrt((kept**2).sum(axis=1).mean()))


class _Sampler:
    """The unknowns of the model, drawn again and again given what a table says."""

    def __init__(self, table: OutcomeTable, x: Array, rng: np.random.Generator) -> None:
        self.table, self.x = table, x
        self.n, self.k = table.seconds.shape
        self.cuts = CUTS * float(table.cutoffs.max())
        self._rng = rng
        self._observe()
        j, m = len(CUTS), x.shape[1]
        self.level = np.full(j, _MIDDLE)
        self.turn = np.zeros((self.k, j))
        self.own = np.zeros((self.k, m + 1))
        """Skill, and what the coordinates weigh for this solver."""
        self.common = np.zeros(m)
        self.ease = np.zeros(self.n)
        self.variances = dict(TYPICAL)

    def _observe(self) -> None:
        """Turn runs into one yes or no per interval that they passed."""
        seconds, solved = self.table.seconds, self.table.solved
        row, solver = np.nonzero((seconds > 0.0) | solved)
        took = seconds[row, solver]
        middle = (np.concatenate(([0.0], self.cuts[:-1])) + self.cuts) / 2.0
        within = np.minimum(np.searchsorted(self.cuts, took), len(CUTS) - 1)
        # An interval that was left half way, unsolved, says nothing; one passed for more than that, no.
        won = solved[row, solver] & (took <= self.cuts[-1])
        passed = np.where(won, within + 1, (took[:, None] >= middle).sum(axis=1))
        cell = np.repeat(np.arange(len(row)), passed)
        self._interval = np.arange(len(cell)) - np.repeat(np.cumsum(passed) - passed, passed)
        self._row, self._solver = row[cell], solver[cell]
        self._yes = won[cell] & (self._interval == within[cell])
        self._cell = self._row * self.k + self._solver
        self._turn = self._solver * len(CUTS) + self._interval
        one = np.ones(len(cell))
        self._counts = np.bincount(self._cell, one, self.n * self.k).reshape(self.n, self.k)
        self._design = design = np.hstack([np.ones((self.n, 1)), self.x])
        self._gram = np.einsum("ia,ip,iq->apq", self._counts, design, design)
        self._gram_common = self.x.T @ (self.x * self._counts.sum(axis=1)[:, None])

    def _by_cell(self) -> Array:
        """Return what v is without level and turn, shape (n, K)."""
        return np.asarray(self._design @ self.own.T + (self.x @ self.common + self.ease)[:, None])

    def sweep(self) -> None:
        rng, sizes = self._rng, self.variances
        mean = self._by_cell().ravel()[self._cell]
        mean = mean + self.level[self._interval] + self.turn.ravel()[self._turn]
        left = _truncated(mean, self._yes, rng) - mean
        self.level = self._grouped(left, self._interval, self.level, _WIDTH**2, _MIDDLE)
        self.turn = self._grouped(left, self._turn, self.turn, sizes["turn"])
        left = self._draw_own(left)
        left = self._draw_common(left)
        self.ease = self._grouped(left, self._row, self.ease, sizes["ease"])
        m = self.x.shape[1]
        ran = self._counts.any(axis=0)
        self.variances = {
            "turn": self._variance("turn", self.turn[ran]),
            "skill": self._variance("skill", self.own[ran, 0]),
            "own": self._variance("own", self.own[ran, 1:] * np.sqrt(max(m, 1))),
            "common": self._variance("common", self.common * np.sqrt(max(m, 1))),
            "ease": self._variance("ease", self.ease[self._counts.any(axis=1)]),
        }

    def _grouped(
        self, left: Array, group: NDArray[np.intp], term: Array, size: float, middle: float = 0.0
    ) -> Array:
        """Draw a term of which each observation has one value; `left` is what it leaves of them."""
        left += term.ravel()[group]
        precision = np.bincount(group, minlength=term.size) + 1.0 / size
        drawn = (np.bincount(group, left, term.size) + middle / size) / precision
        drawn = drawn + self._rng.standard_normal(term.size) / np.sqrt(precision)
        left -= drawn[group]
        return np.asarray(drawn).reshape(term.shape)

    def _draw_own(self, left: Array) -> Array:
        by_cell = self._design @ self.own.T
        left = left + by_cell.ravel()[self._cell]
        sums = np.bincount(self._cell, left, self.n * self.k).astype(np.float64).reshape(self.n, self.k)
        m = self.x.shape[1]
        prior = np.concatenate(([1.0 / self.variances["skill"]], np.full(m, m / self.variances["own"])))
        self.own = self._normal(self._gram + np.diag(prior), (self._design.T @ sums).T)
        by_cell = self._design @ self.own.T
        return np.asarray(left - by_cell.ravel()[self._cell])

    def _draw_common(self, left: Array) -> Array:
        m = self.x.shape[1]
        if not m:
            return left
        left = left + (self.x @ self.common)[self._row]
        sums = np.bincount(self._row, left, self.n).astype(np.float64)
        prior = np.eye(m) * (m / self.variances["common"])
        self.common = self._normal(self._gram_common + prior, self.x.T @ sums)
        return np.asarray(left - (self.x @ self.common)[self._row])

    def _normal(self, precision: Array, sums: Array) -> Array:
        """Draw vectors with these precisions, whose means are precision^-1 sums."""
        root = np.linalg.cholesky(precision)
        noise = self._rng.standard_normal(sums.shape)
        turned = np.swapaxes(root, -1, -2)
        centred = np.linalg.solve(root, sums[..., None]) + noise[..., None]
        return np.asarray(np.linalg.solve(turned, centred)[..., 0])

    def _variance(self, kind: str, terms: Array) -> float:
        shape = _SHAPE + terms.size / 2.0
        scale = TYPICAL[kind] * (_SHAPE - 1.0) + float((terms**2).sum()) / 2.0
        return float(scale / self._rng.gamma(shape))

    def costs(self) -> Array:
        """Draw what every solver costs on every instance, given all terms and what is known."""
        from scipy.special import ndtr

        table, rng = self.table, self._rng
        by_cell = self._by_cell()
        watched, cutoffs = table.seconds, np.broadcast_to(table.cutoffs[:, None], table.seconds.shape)
        time = np.full(watched.shape, np.inf)
        start = 0.0
        for j, end in enumerate(self.cuts.tolist()):
            # Of the interval in which watching ended, the chance of what is left of it.
            open_share = np.clip((end - watched) / (end - start), 0.0, 1.0)
            chance = ndtr(by_cell + self.level[j] + self.turn[:, j]) * open_share
            won = (rng.random(watched.shape) < chance) & np.isinf(time)
            begin = np.maximum(start, watched)
            time = np.where(won, begin + (end - begin) * rng.random(watched.shape), time)
            start = end
        costs = np.where(time <= cutoffs, time, PENALTY * cutoffs)
        return np.where(table.known, table.most, costs)


def _truncated(mean: Array, positive: NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """Draw normal variables of deviation 1 around their means, each on its side of 0."""
    from scipy.special import ndtr, ndtri

    sign = np.where(positive, 1.0, -1.0)
    centre = np.clip(sign * mean, -7.0, None)
    share = ndtr(-centre)  # of the wrong side of 0
    drawn = centre - ndtri((1.0 - share) * (1.0 - rng.random(len(mean))))
    return np.asarray(sign * np.maximum(drawn, 0.0))


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
