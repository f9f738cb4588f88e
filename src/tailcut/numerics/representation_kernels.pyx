# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: running statistics of features, and vectors scaled by them, in one pass each.

`tailcut.representation` says what is computed, and calls this for vectors without gaps and giants. Each sum
is taken in a fixed order: the same bits on every run.
"""

import numpy as np

from libc.math cimport copysign, fabs, log1p, sqrt


cdef int _check(Py_ssize_t expected, Py_ssize_t width) except -1:
    if expected != width:
        raise ValueError(f"expected {expected} entries, got {width}")
    return 0


def squared_length(const double[::1] x):
    """Return x'x."""
    cdef double[4] part
    cdef Py_ssize_t i, j, n = x.shape[0]
    cdef double total
    for j in range(4):
        part[j] = 0.0
    for i in range(0, n - 3, 4):
        for j in range(4):
            part[j] += x[i + j] * x[i + j]
    total = (part[0] + part[2]) + (part[1] + part[3])
    for i in range(n - n % 4, n):
        total += x[i] * x[i]
    return total


def count(const double[::1] x, double[::1] seen, double[::1] total):
    """Add one to each entry of `seen`, and x to `total`."""
    cdef Py_ssize_t i
    _check(x.shape[0], seen.shape[0])
    _check(x.shape[0], total.shape[0])
    for i in range(x.shape[0]):
        seen[i] += 1.0
        total[i] += x[i]


def divided(const double[::1] x, double by):
    """Return x / by, shape (d,)."""
    found = np.empty(x.shape[0])
    cdef double[::1] out = found
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = x[i] / by
    return found


def signed_log(const double[::1] x):
    """Return sign(x) log(1 + |x|), shape (d,)."""
    found = np.empty(x.shape[0])
    cdef double[::1] out = found
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = copysign(log1p(fabs(x[i])), x[i])
    return found


def standardise(
    const double[::1] x,
    double[::1] seen,
    double[::1] mean,
    double[::1] squares,
    double clip,
    double scale,
    bint learn,
):
    """Return x in units of the running deviation from the running mean, clipped and scaled, shape (d,).

    With `learn`, x is first taken in (Welford's sums). A missing value (nan) becomes 0, and teaches nothing; so
    does the value of a feature that has not varied, up to rounding.
    """
    found = np.empty(x.shape[0])
    cdef double[::1] out = found
    cdef double count, before, after, deviation, z
    cdef Py_ssize_t i
    _check(x.shape[0], seen.shape[0])
    _check(x.shape[0], mean.shape[0])
    _check(x.shape[0], squares.shape[0])
    for i in range(x.shape[0]):
        if x[i] != x[i]:
            out[i] = 0.0
            continue
        if learn:
            seen[i] += 1.0
        count = seen[i] if seen[i] > 1.0 else 1.0
        after = x[i] - mean[i]
        if learn:
            before = after
            mean[i] += before / count
            after = x[i] - mean[i]
            squares[i] += before * after
        deviation = sqrt(squares[i] / count)
        if deviation > 1e-9 * fabs(mean[i]):
            z = after / deviation
            if z > clip:
                z = clip
            elif z < -clip:
                z = -clip
            out[i] = z * scale
        else:
            out[i] = 0.0
    return found
