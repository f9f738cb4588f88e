# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: what one run does for a race, and which run is the best for the rest of it.

`tailcut.schedules.race` says what is computed, and calls this. Tables, of shape (J + 1, M, K), and cuts from 0 on
are those of `plan_kernels.curve_tables`. A grid (T,) has times from now, 0, to the end.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

from tailcut.numerics.plan_kernels cimport Place, place_of


cdef inline double _at(const double* curve, Py_ssize_t size, Place p) noexcept nogil:
    """Return the survival at a place; `curve` is that at the first cut, and the next cut is `size` further on."""
    return p.low * curve[p.cut * size] + p.high * curve[(p.cut + 1) * size]


cdef inline double _area(const double* integral, const double* curve, Py_ssize_t size, Place p) noexcept nogil:
    """Return the integral at a place, likewise."""
    return integral[p.cut * size] + (
        p.low_area * curve[p.cut * size] + p.high_area * curve[(p.cut + 1) * size]
    )


def run_on(
    const double[:, :, ::1] survival,
    const double[::1] cuts,
    const double[::1] grid,
    double[:, ::1] unsolved,
    Py_ssize_t algorithm,
    double start,
    double known,
    double stop,
):
    """Multiply, in place, how likely it is that nobody has solved the instance, (T, M), by what one run does.

    It began at `start`, which may lie before now, is known to fail for `known` seconds, and is stopped at `stop`.
    """
    cdef Py_ssize_t classes = survival.shape[1], n = survival.shape[2], intervals = survival.shape[0] - 1, t, m
    cdef const double* curve
    cdef double passed
    cdef Place now, then
    if not 0 <= algorithm < n or cuts.shape[0] != intervals + 1 or intervals < 1:
        raise IndexError(f"algorithm {algorithm} of {n}, {cuts.shape[0]} cuts")
    if unsolved.shape[0] != grid.shape[0] or unsolved.shape[1] != classes:
        raise ValueError(f"expected {grid.shape[0]} points of {classes} classes")
    then = place_of(&cuts[0], intervals, known)
    for t in range(grid.shape[0]):
        passed = (grid[t] if grid[t] < stop else stop) - start
        if passed <= known:
            continue
        now = place_of(&cuts[0], intervals, passed)
        for m in range(classes):
            curve = &survival[0, m, algorithm]
            unsolved[t, m] *= _at(curve, classes * n, now) / _at(curve, classes * n, then)


def best_for_the_rest(
    const double[:, :, ::1] survival,
    const double[:, :, ::1] integral,
    const double[::1] cuts,
    const double[::1] grid,
    const double[:, ::1] others,
    const double[::1] weights,
    const double[::1] failed,
    const unsigned char[::1] barred,
    double unsolved,
    Py_ssize_t start,
):
    """Return the best algorithm to run from a point of the grid to the end, -1 if none may.

    `others` (T, M) says how likely it is, in each class, that the other cores have not solved the instance by then;
    `weights` (M,) are those of the classes that this core leaves unsolved before. For as long as it has `failed` (K,),
    an algorithm is sure to fail again. The loss is the time until somebody solves it, and `unsolved` seconds if nobody
    does. Within a cell of the grid, what the others do counts by the mean of its ends; everything else is exact.
    """
    cdef Py_ssize_t n = survival.shape[2], classes = survival.shape[1], intervals = survival.shape[0] - 1
    cdef Py_ssize_t size = classes * n, last = grid.shape[0] - 1, k, m, t, best = -1
    cdef const double* curve
    cdef const double* area
    cdef double known, loss, spent, before, now, share, base, least = INFINITY
    cdef Place then
    if cuts.shape[0] != intervals + 1 or intervals < 1 or integral.shape[0] != intervals + 1:
        raise ValueError(f"{cuts.shape[0]} cuts for tables of {intervals + 1}")
    if others.shape[0] != last + 1 or others.shape[1] != classes or weights.shape[0] != classes:
        raise ValueError(f"expected {classes} weights, and others at {last + 1} points")
    if failed.shape[0] != n or barred.shape[0] != n:
        raise ValueError(f"expected {n} algorithms in failed and barred")
    if not 0 <= start < last:
        raise IndexError(f"point {start} of {last + 1}")
    cdef Place* places = <Place*>malloc((last + 1) * sizeof(Place))
    if places == NULL:
        raise MemoryError
    with nogil:
        for t in range(start + 1, last + 1):
            places[t] = place_of(&cuts[0], intervals, grid[t] - grid[start])
        for k in range(n):
            known = failed[k]
            if barred[k] or known >= grid[last] - grid[start]:
                continue
            then = place_of(&cuts[0], intervals, known)
            loss = 0.0
            for m in range(classes):
                curve, area = &survival[0, m, k], &integral[0, m, k]
                share = 1.0 / _at(curve, size, then)
                base = _area(area, curve, size, then)
                before, spent = 0.0, 0.0
                for t in range(start + 1, last + 1):
                    now = grid[t] - grid[start]
                    if now > known:
                        now = known + (_area(area, curve, size, places[t]) - base) * share
                    spent += (now - before) * 0.5 * (others[t - 1, m] + others[t, m])
                    before = now
                spent += unsolved * others[last, m] * (_at(curve, size, places[last]) * share)
                loss += weights[m] * spent
            if loss < least:
                least, best = loss, k
    free(places)
    return best
