"""The normal distribution far out in its tails, and the lognormal under a cutoff.

Everything stays finite and accurate where the textbook forms divide 0 by 0: through the scaled complementary
error function erfcx and through logarithms of probabilities.
"""

from __future__ import annotations

import math

import numpy as np

from tailcut.numerics import normal_kernels as special
from tailcut.types import Array

SMALLEST_SPREAD = 1e-12
"""Standard deviations are taken as at least this: a spread of 0 is a limit, not a number to divide by."""

_SQRT_HALF = math.sqrt(0.5)


def solved_part(mu: Array, s: Array, cutoff: float) -> Array:
    """Return E[m 1(m <= C)] for log m ~ N(mu, s^2): the mean runtime, timeouts counted as 0.

    The closed form is exp(mu + s^2/2) Phi(b - s) with b = (log C - mu)/s; a huge factor may meet a tiny
    one, so they are multiplied as logarithms. The rounding error of the exponent, about 1e-16 s^2, stays
    harmless for every spread that can occur.

    >>> round(float(solved_part(np.array([0.0]), np.array([1.0]), 1e8)[0]), 9)  # exp(1/2): no cutoff felt
    1.648721271
    """
    b = (math.log(cutoff) - mu) / s
    mean: Array = np.exp(mu + 0.5 * s * s + special.log_ndtr(b - s))
    return mean


def timeout_probability(mu: Array, s: Array, cutoff: float) -> Array:
    """Return P(m > C) for log m ~ N(mu, s^2)."""
    probability: Array = special.ndtr((mu - math.log(cutoff)) / s)
    return probability


def draw_above(rng: np.random.Generator, mean: float, deviation: float, floor: float) -> float:
    """Draw from N(mean, deviation^2) given that the draw exceeds `floor`.

    By inversion of the upper tail in log space: no rejection loop, exact also where the floor lies
    tens of deviations out.
    """
    deviation = max(deviation, SMALLEST_SPREAD)
    log_tail = float(special.log_ndtr((mean - floor) / deviation))
    log_uniform = math.log1p(-rng.random())  # of a number in (0, 1]
    return max(mean - deviation * float(special.ndtri_exp(log_tail + log_uniform)), floor)


def upper_tail_moments(mean: float, deviation: float, floor: float) -> tuple[float, float]:
    """Return (r, g) with r = phi(z)/Phi(z), g = r + z, z = (mean - floor)/deviation.

    They say what learning "the draw exceeded `floor`" does to a normal belief: its mean becomes
    mean + deviation r, its variance deviation^2 (1 - r g), with r g in (0, 1). Far below the floor
    r and -z nearly cancel, so there g comes from the asymptotic series of Mills' ratio.
    """
    z = (mean - floor) / max(deviation, SMALLEST_SPREAD)
    if z < -200.0:
        t = 1.0 / (z * z)
        gap = -(1.0 - t * (2.0 - 10.0 * t)) / z
        return gap - z, gap
    r = math.sqrt(2.0 / math.pi) / float(special.erfcx(-z * _SQRT_HALF)) if z < 25.0 else 0.0
    return r, r + z
