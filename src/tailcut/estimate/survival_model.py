"""A model of how long solvers take on instances, and draws of all that was not observed.

Time is cut into intervals. That solver a solves instance i within interval j, given that it had not before,
has the chance Phi(v) with

    v = level[j] + turn[a, j] + skill[a] + x[i]'(common + own[a]) + ease[i]

where x[i] are a few coordinates of the instance (`feature_basis`). Levels and turns say how solutions
spread over time; ease[i] is what all solvers find easy or hard about an instance beyond its features (a
frailty), so a solver's fate on an instance says something about the others' there. All terms but the levels
are normal around 0, and how large each kind is, is learned too: how unlike each other solvers are, and how
much that changes with the features. This is what makes an interval wide where a solver was never tried on
instances like these.

The posterior is drawn by Gibbs sampling with normal latent variables (Albert and Chib, "Bayesian analysis
of binary and polychotomous response data", JASA 1993). What was run, and for how long, depends on features
and on outcomes that were observed, which the model is given; so which cells are missing need not be modelled
(Rubin, "Inference and missing data", Biometrika 1976).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tailcut.estimate.outcome_table import OutcomeTable
from tailcut.numerics.randomness import stream
from tailcut.types import PENALTY, Array

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


class SurvivalModel:
    """The unknowns of the model, drawn again and again given what a table says."""

    def __init__(self, table: OutcomeTable, x: Array, seed: int) -> None:
        self.table, self.x = table, x
        self.n, self.k = table.seconds.shape
        self.cuts = CUTS * float(table.cutoffs.max())
        self._rng = stream(seed, "single solver costs")
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
        design = np.hstack([np.ones((self.n, 1)), self.x])
        self._design = design
        self._gram = np.einsum("ia,ip,iq->apq", self._counts, design, design)
        self._gram_common = self.x.T @ (self.x * self._counts.sum(axis=1)[:, None])

    def draws(self) -> Iterator[Array]:
        """Yield what every solver may have cost on every instance, shape (n, K), draw after draw."""
        for sweep in range(FIRST_SWEEPS + SWEEPS):
            self._sweep()
            if sweep >= FIRST_SWEEPS and sweep % EVERY == 0:
                yield self._costs()

    def _means(self) -> Array:
        """Return v of every observation."""
        by_cell = self._design @ self.own.T + (self.x @ self.common + self.ease)[:, None]
        return np.asarray(
            by_cell.ravel()[self._cell] + self.level[self._interval] + self.turn.ravel()[self._turn]
        )

    def _sweep(self) -> None:
        """Draw everything once, each kind of term given all others."""
        rng, sizes = self._rng, self.variances
        mean = self._means()
        left = _truncated(mean, self._yes, rng) - mean
        left = self._draw_levels(left)
        left += self.turn.ravel()[self._turn]
        self.turn = self._grouped(left, self._turn, self.turn.shape, sizes["turn"])
        left -= self.turn.ravel()[self._turn]
        left = self._draw_own(left)
        left = self._draw_common(left)
        left += self.ease[self._row]
        self.ease = self._grouped(left, self._row, self.ease.shape, sizes["ease"])
        m = self.x.shape[1]
        ran = self._counts.any(axis=0)
        self.variances = {
            "turn": self._variance("turn", self.turn[ran]),
            "skill": self._variance("skill", self.own[ran, 0]),
            "own": self._variance("own", self.own[ran, 1:] * np.sqrt(max(m, 1))),
            "common": self._variance("common", self.common * np.sqrt(max(m, 1))),
            "ease": self._variance("ease", self.ease[self._counts.any(axis=1)]),
        }

    def _draw_levels(self, left: Array) -> Array:
        left = left + self.level[self._interval]
        sums = np.bincount(self._interval, left, len(CUTS)) + _MIDDLE / _WIDTH**2
        precision = np.bincount(self._interval, minlength=len(CUTS)) + 1.0 / _WIDTH**2
        self.level = sums / precision + self._rng.standard_normal(len(CUTS)) / np.sqrt(precision)
        return np.asarray(left - self.level[self._interval])

    def _grouped(self, left: Array, group: NDArray[np.intp], shape: tuple[int, ...], size: float) -> Array:
        """Draw terms of which each observation has one."""
        count = int(np.prod(shape))
        precision = np.bincount(group, minlength=count) + 1.0 / size
        drawn = np.bincount(group, left, count) / precision
        return np.asarray(drawn + self._rng.standard_normal(count) / np.sqrt(precision)).reshape(shape)

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

    def _costs(self) -> Array:
        """Draw what every solver costs on every instance, given all terms and what is known."""
        from scipy.special import ndtr

        table, rng = self.table, self._rng
        by_cell = self._design @ self.own.T + (self.x @ self.common + self.ease)[:, None]
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
