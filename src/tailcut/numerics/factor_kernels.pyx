# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: one more row for the triangular factor R of a QR decomposition.

`tailcut.models.refitted` says what it is for. Column after column, a Householder reflection of two entries,
the diagonal one of R and that of the row, takes the row's entry to 0. LAPACK's dtpqrt does the same, with the same
bits, but calls BLAS several times per column.
"""

from libc.math cimport copysign, fabs, sqrt

from tailcut.numerics.buffers cimport WRITE, Table, Vector, table, vector_of

cdef double SAFE = 2.0041683600089728e-292
"""The reciprocal of a smaller number may overflow: dlarfg's safmin."""


cdef struct Reflection:
    # I - tau (1, v)(1, v)' takes (alpha, x) to (beta, 0).
    double beta
    double tau
    double v


cdef inline double _length(double a, double b) noexcept nogil:
    """Return the length of (a, b) without overflow, as dlapy2 does."""
    cdef double large = fabs(a) if fabs(a) > fabs(b) else fabs(b)
    cdef double small = fabs(b) if fabs(a) > fabs(b) else fabs(a)
    if small == 0.0:
        return large
    return large * sqrt(1.0 + (small / large) * (small / large))


cdef Reflection _reflection(double alpha, double x) noexcept nogil:
    """Return the reflection for x other than 0, as dlarfg does: tiny numbers are scaled up for it."""
    cdef Reflection found
    cdef int scaled = 0
    found.beta = -copysign(_length(alpha, x), alpha)
    while fabs(found.beta) < SAFE and scaled < 20:
        scaled += 1
        alpha, x = alpha / SAFE, x / SAFE
        found.beta = -copysign(_length(alpha, x), alpha)
    found.tau = (found.beta - alpha) / found.beta
    found.v = x * (1.0 / (alpha - found.beta))
    for _ in range(scaled):
        found.beta *= SAFE
    return found


def add_row(factor_, row_):
    """Let the upper triangular `factor`, shape (m, m), be that of its rows and one more, shape (m,), which is lost."""
    cdef Table factor = table(factor_, WRITE)
    cdef Vector row = vector_of(row_, factor.columns, WRITE)
    cdef Reflection turn
    cdef double* own
    cdef double w
    cdef Py_ssize_t i, j
    if factor.rows != factor.columns:
        raise ValueError(f"expected a square factor, got {factor.rows} rows of {factor.columns}")
    for i in range(factor.rows):
        if row.at[i] == 0.0:
            continue
        own = factor.at + i * factor.columns
        turn = _reflection(own[i], row.at[i])
        own[i] = turn.beta
        for j in range(i + 1, factor.columns):
            w = turn.tau * (turn.v * row.at[j] + own[j])
            own[j] -= w
            row.at[j] -= turn.v * w
