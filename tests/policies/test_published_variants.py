"""Each published variant, stepped by hand from the paper's pseudo-code, decides alike.

The reference below is written from Algorithms 1 to 3 of the paper (with the corrections of its slips:
the Buckley-James draw already is a log-runtime), one algorithm at a time, with explicit matrices,
numpy's solver and scipy.stats. It shares nothing with the package but the random numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

from tailcut import Selector
from tailcut.numerics.randomness import stream
from tailcut.types import Array
from tests.test_catalogue import PUBLISHED

CUTOFF = 60.0
K, D, STEPS = 3, 4, 60
SEED = 5


@dataclass
class Reference:
    """Algorithms 1, 2 and 3, chosen by the parts of the name."""

    name: str
    gram: list[Array] = field(default_factory=list)
    moment: list[Array] = field(default_factory=list)
    timeouts: list[int] = field(default_factory=lambda: [0] * K)

    def __post_init__(self) -> None:
        self.is_thompson = "thompson" in self.name
        ridge = 0.5 if self.is_thompson else 1.0
        self.gram = [ridge * np.eye(D) for _ in range(K)]
        self.moment = [np.zeros(D) for _ in range(K)]
        self.explore = stream(SEED, "exploration")
        self.censor = stream(SEED, "censoring")

    def mean_and_norm(self, a: int, x: Array) -> tuple[float, float]:
        """x'theta and ||x||_A."""
        theta = np.linalg.solve(self.gram[a], self.moment[a])
        return float(x @ theta), math.sqrt(float(x @ np.linalg.solve(self.gram[a], x)))

    def choose(self, t: int, x: Array) -> int:
        drawn = self.explore.standard_normal(K) if self.is_thompson or "rand" in self.name else np.zeros(K)
        scores = [self.score(a, x, float(drawn[a])) for a in range(K)]
        return t if t < K else int(np.argmin(scores))

    def score(self, a: int, x: Array, drawn: float) -> float:
        mean, norm = self.mean_and_norm(a, x)
        if self.is_thompson:  # Alg. 3, lines 13-15
            sample = mean + norm * drawn
            return expected_loss(sample, norm) if self.name.endswith("_rev") else sample
        width = norm
        if "bclinucb" in self.name:
            width = (1.0 + 2.0 * math.log(CUTOFF) * math.sqrt(self.timeouts[a])) * norm
        if "rand" in self.name:
            width *= abs(math.sqrt(0.25) * drawn)
        low, high = mean - width, mean + width
        return revisited_loss(low, high, 10.0) if self.name.endswith("_rev") else low

    def learn(self, a: int, x: Array, runtime: float) -> None:
        censored = runtime > CUTOFF
        self.timeouts[a] += censored
        y = min(math.log(runtime), math.log(CUTOFF))
        if censored and self.name.startswith("bj"):  # Alg. 3, lines 20-22
            mean, norm = self.mean_and_norm(a, x)
            belief = stats.truncnorm((y - mean) / norm, np.inf, loc=mean, scale=norm)
            y = float(belief.isf(1.0 - self.censor.random()))
        if censored and "blinducb" in self.name:
            return  # Alg. 1, line 20: the blind variants ignore the run
        self.gram[a] = self.gram[a] + np.outer(x, x)
        self.moment[a] = self.moment[a] + y * x


def expected_loss(mu: float, s: float) -> float:
    """Eq. (expected_loss_3): (1 - Phi) (P(C) - E_C) + E_C."""
    c = math.log(CUTOFF)
    first = (c - mu - s**2) / s
    e_c = math.exp(mu + s**2 / 2) * stats.norm.cdf(first) / stats.norm.cdf(first + s)
    return float((1 - stats.norm.cdf(c, mu, s)) * (10 * CUTOFF - e_c) + e_c)


def revisited_loss(low: float, high: float, sigma: float) -> float:
    """Alg. 2, lines 16-17."""
    c, phi = math.log(CUTOFF), stats.norm.cdf
    first_high, first_low = (c - high - sigma**2) / sigma, (c - low - sigma**2) / sigma
    second_high, second_low = (c - high) / sigma, (c - low) / sigma
    solved = math.exp(low + sigma**2 / 2) * phi(first_high) / phi(second_low)
    bracket = 10 * CUTOFF - math.exp(high + sigma**2 / 2) * phi(first_low) / phi(second_high)
    return float(solved + (1 - phi(c, high, sigma)) * bracket)


VARIANTS = PUBLISHED[:12]


@pytest.mark.parametrize("name", VARIANTS)
def test_variant_decides_as_the_pseudo_code_does(name: str) -> None:
    rng = np.random.default_rng(17)
    theta = rng.standard_normal((K, D)) + 1.9
    selector = Selector(name, ["a", "b", "c"], CUTOFF, seed=SEED)
    reference = Reference(name)
    chosen, timeouts = set(), 0
    for t in range(STEPS):
        x = rng.standard_normal(D) + 1.0
        x /= np.linalg.norm(x)
        runtimes = np.exp(x @ theta.T + 1.5 * rng.standard_normal(K))
        ours = reference.choose(t, x)
        runtime = float(runtimes[ours])
        decision = selector.select(x)
        assert decision.algorithm == "abc"[ours], f"step {t}"
        if runtime > CUTOFF:
            selector.observe(decision, censored_at=CUTOFF)
        else:
            selector.observe(decision, runtime=runtime)
        reference.learn(ours, x, runtime)
        chosen.add(ours)
        timeouts += runtime > CUTOFF
    assert chosen == {0, 1, 2}, "the example must exercise every algorithm"
    assert 5 <= timeouts <= STEPS - 5, "the example must exercise both kinds of outcome"
