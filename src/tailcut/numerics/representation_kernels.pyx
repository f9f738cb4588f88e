# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: running statistics of features, and vectors scaled by them, in one pass each.

`tailcut.representation` says what is computed, and calls this. Each sum is taken in a fixed order: the same bits
on every run. A vector is ordinary if its squared length is finite: no gaps, no giants. Otherwise its entries are
cut off at `largest` first.
"""

import numpy as np

from libc.math cimport INFINITY as INFINITE
from libc.math cimport copysign, fabs, log1p, sqrt

from tailcut.numerics.buffers cimport READ, WRITE, Vector, vector, vector_of

cdef double SAFE_LEAST = 1e-140, SAFE_MOST = 1e140
"""Between these, the squares of a vector's entries neither over- nor underflow enough to matter."""


cdef double _squared_length(const double* x, Py_ssize_t n) noexcept nogil:
    cdef double[4] part
    cdef Py_ssize_t i, j
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


cdef inline double _clipped(double value, double largest) noexcept nogil:
    """Return the value between -largest and largest; nan stays nan."""
    return largest if value > largest else -largest if value < -largest else value


def squared_length(x_):
    """Return x'x."""
    cdef Vector x = vector(x_, READ)
    return _squared_length(x.at, x.n)


def impute(x_, seen_, total_, double largest, bint learn):
    """Return the vector with nan replaced by the mean of what was seen, itself if it is ordinary; shape (d,).

    With `learn`, values count in `seen` and `total`.
    """
    cdef Vector x = vector(x_, READ)
    cdef double* seen = vector_of(seen_, x.n, WRITE).at
    cdef double* total = vector_of(total_, x.n, WRITE).at
    cdef bint ordinary = _squared_length(x.at, x.n) < INFINITE
    cdef double value
    cdef Py_ssize_t i
    if ordinary:
        if learn:
            for i in range(x.n):
                seen[i] += 1.0
                total[i] += x.at[i]
        return x_
    found = np.empty(x.n)
    cdef double* out = vector(found, WRITE).at
    for i in range(x.n):
        value = _clipped(x.at[i], largest)
        if value != value:
            value = total[i] / (seen[i] if seen[i] > 1.0 else 1.0)
        elif learn:
            seen[i] += 1.0
            total[i] += value
        out[i] = value
    return found


def unit_norm(x_):
    """Return x / |x|, shape (d,); the zero vector itself."""
    cdef Vector x = vector(x_, READ)
    cdef double length = sqrt(_squared_length(x.at, x.n)), largest = 0.0
    cdef Py_ssize_t i
    found = np.empty(x.n)
    cdef double* out = vector(found, WRITE).at
    if SAFE_LEAST < length < SAFE_MOST:
        for i in range(x.n):
            out[i] = x.at[i] / length
        return found
    for i in range(x.n):
        largest = fabs(x.at[i]) if fabs(x.at[i]) > largest else largest
    if largest == 0.0:
        return x_
    for i in range(x.n):
        out[i] = x.at[i] / largest
    length = sqrt(_squared_length(out, x.n))
    for i in range(x.n):
        out[i] = out[i] / length
    return found


def appended(x_, double value):
    """Return x and behind it the value, shape (d + 1,)."""
    cdef Vector x = vector(x_, READ)
    found = np.empty(x.n + 1)
    cdef double* out = vector(found, WRITE).at
    cdef Py_ssize_t i
    for i in range(x.n):
        out[i] = x.at[i]
    out[x.n] = value
    return found


def signed_log(x_):
    """Return sign(x) log(1 + |x|), shape (d,)."""
    cdef Vector x = vector(x_, READ)
    found = np.empty(x.n)
    cdef double* out = vector(found, WRITE).at
    cdef Py_ssize_t i
    for i in range(x.n):
        out[i] = copysign(log1p(fabs(x.at[i])), x.at[i])
    return found


cdef struct Sums:
    # What is known of each feature: how many values there were, their mean, and the sum of squares around it.
    double* seen
    double* mean
    double* squares


cdef Sums _sums(seen, mean, squares, Py_ssize_t n) except *:
    cdef Sums found
    found.seen = vector_of(seen, n, WRITE).at
    found.mean = vector_of(mean, n, WRITE).at
    found.squares = vector_of(squares, n, WRITE).at
    return found


cdef void _standardise(
    Vector x, Sums sums, double clip, double scale, double largest, bint learn, double* out
) noexcept nogil:
    """Write what `standardise` returns."""
    cdef bint ordinary = _squared_length(x.at, x.n) < INFINITE
    cdef double value, count, before, after, deviation, z
    cdef Py_ssize_t i
    for i in range(x.n):
        value = x.at[i] if ordinary else _clipped(x.at[i], largest)
        if value != value:
            out[i] = 0.0
            continue
        if learn:
            sums.seen[i] += 1.0
        count = sums.seen[i] if sums.seen[i] > 1.0 else 1.0
        after = value - sums.mean[i]
        if learn:
            before = after
            sums.mean[i] += before / count
            after = value - sums.mean[i]
            sums.squares[i] += before * after
        deviation = sqrt(sums.squares[i] / count)
        if deviation > 1e-9 * fabs(sums.mean[i]):
            z = after / deviation
            if z > clip:
                z = clip
            elif z < -clip:
                z = -clip
            out[i] = z * scale
        else:
            out[i] = 0.0


def standardise(x_, seen, mean, squares, double clip, double scale, double largest, bint learn):
    """Return x in units of the running deviation from the running mean, clipped and scaled, shape (d,).

    With `learn`, x is first taken in (Welford's sums). A missing value (nan) becomes 0, and teaches nothing; so
    does the value of a feature that has not varied, up to rounding.
    """
    cdef Vector x = vector(x_, READ)
    cdef Sums sums = _sums(seen, mean, squares, x.n)
    found = np.empty(x.n)
    _standardise(x, sums, clip, scale, largest, learn, vector(found, WRITE).at)
    return found


def twofold(
    x_,
    seen,
    mean,
    squares,
    double clip,
    double scale,
    double largest,
    bint learn,
    double intercept,
    double missing,
):
    """Return x standardised, the intercept, and x as it is with nan replaced by `missing`, shape (2 d + 1,)."""
    cdef Vector x = vector(x_, READ)
    cdef Sums sums = _sums(seen, mean, squares, x.n)
    found = np.empty(2 * x.n + 1)
    cdef double* out = vector(found, WRITE).at
    cdef Py_ssize_t i
    _standardise(x, sums, clip, scale, largest, learn, out)
    out[x.n] = intercept
    for i in range(x.n):
        out[x.n + 1 + i] = x.at[i] if x.at[i] == x.at[i] else missing
    return found
