# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: the special functions of the normal distribution, for numbers and for arrays.

Each is built on erfc, exp and log of the C library. scipy.special has them too, but importing it takes longer
than all the rest of Tailcut. tests/numerics/test_special.py holds them against arithmetic with 50 digits.
"""

import numpy as np

from libc.math cimport erfc, exp, expm1, fabs, log, log1p, sqrt

from tailcut.numerics.buffers cimport READ, WRITE, Vector, vector, vector_of

cdef double ROOT_HALF = 0.70710678118654752440
cdef double ROOT_PI = 1.77245385090551602730
cdef double ROOT_TWO_OVER_PI = 0.79788456080286535588
cdef double LOG_TWO = 0.69314718055994530942
cdef double LOG_TWO_PI = 1.83787706640934548356
cdef double INFINITE = float("inf")
cdef double MISSING = float("nan")
cdef double SPLITTER = 134217729.0  # 2^27 + 1: splits a double into halves whose products are exact
cdef double FAR = 12.0
"""From here on the continued fraction of erfcx is exact after a few terms."""
cdef double HUGE = 1e8
"""From here on erfcx(x) is 1 / (x sqrt(pi)) to the last digit."""

ctypedef double (*Function)(double) noexcept nogil


cdef inline double _exp_of_square(double x) noexcept nogil:
    """Return exp(x^2): the part of x^2 that rounding drops would cost up to three digits."""
    cdef double shifted = SPLITTER * x
    cdef double high = shifted - (shifted - x)
    cdef double low = x - high
    cdef double square = x * x
    cdef double dropped = ((high * high - square) + 2.0 * high * low) + low * low
    return exp(square) * (1.0 + dropped)


cdef double erfcx_(double x) noexcept nogil:
    """Return exp(x^2) erfc(x)."""
    cdef double fraction, t
    cdef int k
    if x < FAR:
        return _exp_of_square(x) * erfc(x) if x > -26.7 else INFINITE
    if x > HUGE:
        return 1.0 / (x * ROOT_PI)
    # Laplace's continued fraction, from its end: sqrt(pi) erfcx(x) = 1 / (x + (1/2) / (x + 1 / (x + ...
    fraction = x
    for k in range(24, 0, -1):
        t = 0.5 * k
        fraction = x + t / fraction
    return 1.0 / (ROOT_PI * fraction)


cdef double ndtr_(double x) noexcept nogil:
    """Return Phi(x), the probability that a standard normal draw is at most x."""
    return 0.5 * erfc(-x * ROOT_HALF)


cdef double log_ndtr_(double x) noexcept nogil:
    """Return log Phi(x)."""
    if x < -1.0:
        return log(0.5 * erfcx_(-x * ROOT_HALF)) - 0.5 * x * x
    return log1p(-0.5 * erfc(x * ROOT_HALF))


cdef double _below_median(double y) noexcept nogil:
    """Return x <= 0 with log Phi(x) = y, for y <= -log 2, by Halley's method."""
    cdef double x, error, slope, step
    cdef int k
    if y < -2.0:
        x = sqrt(fmax(-2.0 * y - LOG_TWO_PI, 0.25))
        x = -sqrt(fmax(-2.0 * y - LOG_TWO_PI - 2.0 * log(x), 0.25))
    else:
        x = (y + LOG_TWO) / ROOT_TWO_OVER_PI
    for k in range(8):
        error = log_ndtr_(x) - y
        slope = ROOT_TWO_OVER_PI / erfcx_(-x * ROOT_HALF)  # phi(x) / Phi(x)
        step = error / slope
        step = step / (1.0 + 0.5 * step * (x + slope))
        x -= step
        if fabs(step) <= 1e-15 * fabs(x):
            break
    return x


cdef inline double fmax(double a, double b) noexcept nogil:
    return a if a > b else b


cdef double ndtri_exp_(double y) noexcept nogil:
    """Return x with log Phi(x) = y."""
    if y > 0.0 or y != y:
        return MISSING
    if y == 0.0:
        return INFINITE
    if y == -INFINITE:
        return -INFINITE
    if y > -LOG_TWO:
        return -_below_median(log(-expm1(y)))
    return _below_median(y)


cdef double expit_(double x) noexcept nogil:
    """Return 1 / (1 + exp(-x))."""
    cdef double e
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    e = exp(x)
    return e / (1.0 + e)


cdef object _each(Function function, object given):
    """Return the function of a number, or of every entry of an array."""
    if isinstance(given, float):
        return function(given)
    values = np.ascontiguousarray(given, dtype=np.float64)
    found = np.empty(values.shape)
    cdef const double[::1] flat = values.reshape(-1)
    cdef double[::1] out = found.reshape(-1)
    cdef Py_ssize_t i
    for i in range(flat.shape[0]):
        out[i] = function(flat[i])
    return found if np.ndim(given) else float(found[0] if found.ndim else found)


def erfcx(x):
    """Return exp(x^2) erfc(x), the scaled complementary error function."""
    return _each(erfcx_, x)


def ndtr(x):
    """Return Phi(x), the probability that a standard normal draw is at most x."""
    return _each(ndtr_, x)


def log_ndtr(x):
    """Return log Phi(x), also where Phi(x) is too small for a number."""
    return _each(log_ndtr_, x)


def ndtri_exp(y):
    """Return x with log Phi(x) = y; -inf for -inf, inf for 0, nan above."""
    return _each(ndtri_exp_, y)


def expit(x):
    """Return 1 / (1 + exp(-x))."""
    return _each(expit_, x)


def expected_par(mu_, s_, double cutoff, double least, double penalty):
    """Return E[min(m, C) or `penalty` C] for log m ~ N(mu, s^2), shape (K,), with s at least `least`.

    `tailcut.policies.losses.expected_par` says what it is.
    """
    cdef Vector mu = vector(mu_, READ), s = vector_of(s_, mu.n, READ)
    found = np.empty(mu.n)
    cdef double* out = vector(found, WRITE).at
    cdef double log_cutoff = log(cutoff), unsolved = penalty * cutoff, spread, b, loss
    cdef Py_ssize_t a
    for a in range(mu.n):
        spread = fmax(s.at[a], least)
        b = (log_cutoff - mu.at[a]) / spread
        loss = exp(mu.at[a] + 0.5 * spread * spread + log_ndtr_(b - spread)) + ndtr_(-b) * unsolved
        out[a] = loss if loss < unsolved else unsolved
    return found


cdef inline double _bounded_exp(double x) noexcept nogil:
    """Return exp(x), of at most 700: more would overflow."""
    return exp(x if x < 700.0 else 700.0)


def optimistic_par(low_, high_, s_, double cutoff, double least, double penalty):
    """Return the paper's lower estimate of the expected PARk from two bounds, shape (K,).

    `tailcut.policies.losses.optimistic_par` says what it is.
    """
    cdef Vector low = vector(low_, READ), high = vector_of(high_, low.n, READ), s = vector_of(s_, low.n, READ)
    found = np.empty(low.n)
    cdef double* out = vector(found, WRITE).at
    cdef double log_cutoff = log(cutoff), unsolved = penalty * cutoff, spread, half, b_low, b_high, first, second
    cdef Py_ssize_t a
    for a in range(low.n):
        spread = fmax(s.at[a], least)
        half = 0.5 * spread * spread
        b_low = (log_cutoff - low.at[a]) / spread
        b_high = (log_cutoff - high.at[a]) / spread
        first = _bounded_exp(low.at[a] + half + log_ndtr_(b_high - spread) - log_ndtr_(b_low))
        second = _bounded_exp(high.at[a] + half + log_ndtr_(b_low - spread) - log_ndtr_(b_high))
        out[a] = first + ndtr_(-b_high) * (unsolved - second)
    return found


def draw(mean_, variance_, double factor, standard_):
    """Return mean + spread times a `standard` normal draw, and the spread, sqrt(factor variance); each (K,)."""
    cdef Vector mean = vector(mean_, READ), variance = vector_of(variance_, mean.n, READ)
    cdef Vector standard = vector_of(standard_, mean.n, READ)
    drawn_, spread_ = np.empty(mean.n), np.empty(mean.n)
    cdef double* drawn = vector(drawn_, WRITE).at
    cdef double* spread = vector(spread_, WRITE).at
    cdef Py_ssize_t a
    for a in range(mean.n):
        spread[a] = sqrt(factor * variance.at[a])
        drawn[a] = mean.at[a] + spread[a] * standard.at[a]
    return drawn_, spread_


def bounds(mean_, variance_, double alpha, censored_, double bias, standard_, double deviation, double noise):
    """Return mean - width, mean + width and the noise, each of shape (K,).

    The width is alpha sqrt(variance) (1 + bias sqrt(censored)), times abs(deviation standard) unless `standard`,
    which holds normal draws, is None.
    """
    cdef Vector mean = vector(mean_, READ), variance = vector_of(variance_, mean.n, READ)
    cdef Vector censored = vector_of(censored_, mean.n, READ)
    cdef bint randomised = standard_ is not None
    cdef Vector standard = vector_of(standard_, mean.n, READ) if randomised else mean
    low_, high_, spread_ = np.empty(mean.n), np.empty(mean.n), np.empty(mean.n)
    cdef double* low = vector(low_, WRITE).at
    cdef double* high = vector(high_, WRITE).at
    cdef double* spread = vector(spread_, WRITE).at
    cdef double width
    cdef Py_ssize_t a
    for a in range(mean.n):
        width = alpha * sqrt(variance.at[a]) * (1.0 + bias * sqrt(censored.at[a]))
        if randomised:
            width *= fabs(standard.at[a]) * deviation
        low[a] = mean.at[a] - width
        high[a] = mean.at[a] + width
        spread[a] = noise
    return low_, high_, spread_
