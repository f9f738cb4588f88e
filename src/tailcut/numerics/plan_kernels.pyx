# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: survival curves from log-odds, their values at any time, and the best plan for one instance.

`tailcut.schedules.curves` and `tailcut.schedules.planner` say what is computed, and call this. Tables have
shape (J + 1, M, K), cuts by classes by algorithms, so that the innermost loops go over the algorithms. Arithmetic
is in double precision and in a fixed order.

What cannot win is skipped, by bounds that hold exactly: each class is granted an algorithm of its own for what
follows, which no plan can beat. A skipped plan has no part in any number that is returned.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memset

cdef double LEAST = 1e-300  # a ratio of survivals must exist
cdef double SLACK = 1e-11  # bounds are rounded, too: what is closer than this share is not skipped


cdef Place place_of(const double* cuts, Py_ssize_t n_intervals, double time) noexcept nogil:
    cdef Place place
    cdef Py_ssize_t j = 0
    cdef double run, width, within, beyond
    while j + 1 < n_intervals and cuts[j + 1] <= time:
        j += 1
    run = time - cuts[j] if time > cuts[j] else 0.0
    width = cuts[j + 1] - cuts[j]
    within = run if run < width else width
    beyond = run - within
    place.cut = j
    place.high = within / width
    place.low = 1.0 - place.high
    place.low_area = 0.5 * within * (1.0 + place.low) + beyond * place.low
    place.high_area = (0.5 * within + beyond) * place.high
    return place


# ---------------------------------------------------------------------------------------------- curves


def curve_tables(const double[:, :, :] log_odds, const double[::1] cuts):
    """Return survival and integral at the cuts, (J + 1, M, K), for log-odds (K, J, M)."""
    cdef Py_ssize_t n = log_odds.shape[0], intervals = log_odds.shape[1], classes = log_odds.shape[2], k, j, m
    cdef double[:, :, ::1] survival
    _check(cuts, intervals)
    survival_ = np.empty((intervals + 1, classes, n))
    integral_ = np.empty((intervals + 1, classes, n))
    survival = survival_
    with nogil:
        for k in range(n):
            for j in range(intervals):
                for m in range(classes):
                    survival[j + 1, m, k] = exp(log_odds[k, j, m])
    _follow_odds(survival, integral_, cuts)
    return survival_, integral_


cdef int _check(const double[::1] cuts, Py_ssize_t intervals) except -1:
    if intervals < 1 or cuts.shape[0] != intervals + 1:
        raise ValueError(f"{cuts.shape[0]} cuts, 0 included, for {intervals} intervals")
    return 0


cdef void _follow_odds(double[:, :, ::1] survival, double[:, :, ::1] integral, const double[::1] cuts):
    """Turn the odds of a solution in each interval into the survival at its end, and integrate."""
    cdef Py_ssize_t size = survival.shape[1] * survival.shape[2], j, i
    cdef double* s
    cdef double* area
    cdef double half, v
    if size == 0:
        return
    with nogil:
        for i in range(size):
            (&survival[0, 0, 0])[i] = 1.0
            (&integral[0, 0, 0])[i] = 0.0
        for j in range(survival.shape[0] - 1):
            s = &survival[j, 0, 0]
            area = &integral[j, 0, 0]
            half = 0.5 * (cuts[j + 1] - cuts[j])
            for i in range(size):
                v = s[i] / (1.0 + s[size + i])
                v = v if v > LEAST else LEAST
                s[size + i] = v
                area[size + i] = area[i] + half * (s[i] + v)


def curve_values(
    const double[:, :, ::1] survival,
    const double[:, :, ::1] integral,
    const double[::1] cuts,
    const double[:, :] times,
):
    """Return survival and integral of each algorithm at times (L, K), shape (L, M, K) each."""
    cdef Py_ssize_t rows = times.shape[0], classes = survival.shape[1], n = survival.shape[2], r, m, k
    cdef Place p
    if times.shape[1] != n:
        raise ValueError(f"times of {times.shape[1]} algorithms for curves of {n}")
    survival_ = np.empty((rows, classes, n))
    integral_ = np.empty((rows, classes, n))
    cdef double[:, :, ::1] s = survival_
    cdef double[:, :, ::1] area = integral_
    cdef double low, high
    with nogil:
        for r in range(rows):
            for k in range(n):
                p = place_of(&cuts[0], cuts.shape[0] - 1, times[r, k])
                for m in range(classes):
                    low = survival[p.cut, m, k]
                    high = survival[p.cut + 1, m, k]
                    s[r, m, k] = p.low * low + p.high * high
                    area[r, m, k] = integral[p.cut, m, k] + (p.low_area * low + p.high_area * high)
    return survival_, integral_


def failure_likelihood(const double[:, :, ::1] survival, const double[::1] cuts, const double[:] failed):
    """Return how likely it is, in each class, that each algorithm fails for as long as it did, shape (M,).

    As a share of the class in which it is most likely.
    """
    cdef Py_ssize_t n = survival.shape[2]
    if failed.shape[0] != n:
        raise ValueError(f"failures of {failed.shape[0]} algorithms for curves of {n}")
    likely_ = np.empty(survival.shape[1])
    cdef double[::1] likely = likely_
    with nogil:
        likely_failures(survival, cuts, failed, &likely[0])
    return likely_


cdef void likely_failures(
    const double[:, :, ::1] survival, const double[::1] cuts, const double[:] failed, double* likely
) noexcept nogil:
    """Set what `failure_likelihood` returns, (M,)."""
    cdef Py_ssize_t classes = survival.shape[1], m, k
    cdef double best = -INFINITY
    cdef Place p
    for m in range(classes):
        likely[m] = 0.0
    for k in range(survival.shape[2]):
        if failed[k] <= 0.0:
            continue
        p = place_of(&cuts[0], cuts.shape[0] - 1, failed[k])
        for m in range(classes):
            likely[m] += log(p.low * survival[p.cut, m, k] + p.high * survival[p.cut + 1, m, k])
    for m in range(classes):
        best = likely[m] if likely[m] > best else best
    for m in range(classes):
        likely[m] = exp(likely[m] - best)


cdef double _sum(const double* values, Py_ssize_t count) noexcept nogil:
    """Return the sum, in eight parts, so that no addition waits for the last one: as numpy adds up."""
    cdef double part[8]
    cdef double total = 0.0
    cdef Py_ssize_t i, j, half
    if count > 128:
        half = count // 2
        half -= half % 8
        return _sum(values, half) + _sum(values + half, count - half)
    i = 0
    if count >= 8:
        for j in range(8):
            part[j] = values[j]
        i = 8
        while i + 8 <= count:
            for j in range(8):
                part[j] += values[i + j]
            i += 8
        total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]))
    while i < count:
        total += values[i]
        i += 1
    return total


# ------------------------------------------------------------------------------------------------ plans


cdef struct Case:
    # One instance at one moment, and room to work in. Rows of (M, K) numbers are called rows.
    Py_ssize_t n, classes, intervals  # K, M, J
    Py_ssize_t lengths  # L: the cuts that are runs, and all that is left
    double left, unsolved, nearly_all, longer
    const double* cuts
    const unsigned char* barred
    const double* survival  # at the cuts, as a share of that at `failed`
    const double* integral  # likewise, from `failed` on
    double* own_survival  # room for these two where something has failed
    double* own_integral
    double* weights  # (M,)
    double* failed  # (K,)
    double* last_survival  # at `left`, one row
    double* last_integral
    double* follow  # loss of each algorithm for the rest after each length, without `failed`; rows
    double* follow_least  # least such loss, idling included, by class, (L, M)
    double* late  # (K,): what counts on top of a row of `follow`
    double* spent  # of each first run, (L, K)
    double* alive  # probability that it fails, (L, K)
    double* loss  # of the best plan found that starts with it, (L, K)
    double* best  # the same over lengths, (K,)
    double* first  # (M,): weights after the first run
    double* sums  # (K,)
    Bound* bounds  # (L, K)


cdef struct Bound:
    double least
    Py_ssize_t number


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef const Bound* x = <const Bound*>a
    cdef const Bound* y = <const Bound*>b
    if x.least != y.least:
        return -1 if x.least < y.least else 1
    return -1 if x.number < y.number else 1


cdef inline bint _above(double bound, double value) noexcept nogil:
    """Return whether a lower bound lies above a value, whatever was rounded."""
    return bound - SLACK * fabs(bound) > value


cdef inline double _time(const Case* c, Py_ssize_t length) noexcept nogil:
    return c.left if length == c.lengths - 1 else c.cuts[length + 1]


cdef inline const double* _survival(const Case* c, Py_ssize_t length) noexcept nogil:
    """Return the survival after a run of a length, a row."""
    return c.last_survival if length == c.lengths - 1 else c.survival + (length + 1) * c.classes * c.n


cdef inline const double* _integral(const Case* c, Py_ssize_t length) noexcept nogil:
    return c.last_integral if length == c.lengths - 1 else c.integral + (length + 1) * c.classes * c.n


cdef void _add_rows(
    double* total, const double* weights, const double* row, Py_ssize_t classes, Py_ssize_t n
) noexcept nogil:
    """Add the sum over the classes of weight times row to `total` (K,); four classes at once, for speed."""
    cdef Py_ssize_t m = 0, k
    cdef double a, b, c, d
    while m + 4 <= classes:
        a, b, c, d = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
        for k in range(n):
            total[k] += (a * row[k] + b * row[n + k]) + (c * row[2 * n + k] + d * row[3 * n + k])
        row += 4 * n
        m += 4
    while m < classes:
        a = weights[m]
        for k in range(n):
            total[k] += a * row[k]
        row += n
        m += 1


cdef double _least_sum(const double* row, const double* late, Py_ssize_t n) noexcept nogil:
    """Return the least of row + late, in four parts likewise."""
    cdef double a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY, v
    cdef Py_ssize_t k = 0
    while k + 4 <= n:
        v = row[k] + late[k]
        a = v if v < a else a
        v = row[k + 1] + late[k + 1]
        b = v if v < b else b
        v = row[k + 2] + late[k + 2]
        c = v if v < c else c
        v = row[k + 3] + late[k + 3]
        d = v if v < d else d
        k += 4
    while k < n:
        v = row[k] + late[k]
        a = v if v < a else a
        k += 1
    a = b if b < a else a
    c = d if d < c else c
    return c if c < a else a


cdef void _relate_to_failures(Case* c) noexcept nogil:
    """Make the tables relative to where each algorithm has failed, unless none has."""
    cdef Py_ssize_t size = c.classes * c.n, j, m, k, i
    cdef Place p
    cdef double* s = c.own_survival
    cdef double* area = c.own_integral
    cdef double* scale = c.last_survival  # room that is free until later
    cdef double* start = c.last_integral
    cdef double low, high
    for k in range(c.n):
        p = place_of(c.cuts, c.intervals, c.failed[k])
        for m in range(c.classes):
            i = p.cut * size + m * c.n + k
            low, high = c.survival[i], c.survival[i + size]
            scale[m * c.n + k] = 1.0 / (p.low * low + p.high * high)
            start[m * c.n + k] = c.integral[i] + (p.low_area * low + p.high_area * high)
    for j in range(c.intervals + 1):
        for i in range(size):
            s[j * size + i] = c.survival[j * size + i] * scale[i]
            area[j * size + i] = (c.integral[j * size + i] - start[i]) * scale[i]
    c.survival = s
    c.integral = area


cdef void _prepare(Case* c) noexcept nogil:
    """Fill in all that does not depend on which run is first."""
    cdef Py_ssize_t size = c.classes * c.n, m, k, i, length
    cdef const double* low
    cdef const double* high
    cdef const double* area
    cdef double* follow
    cdef double a, b, v, rest
    cdef Place p = place_of(c.cuts, c.intervals, c.left)
    low = c.survival + p.cut * size
    high = low + size
    area = c.integral + p.cut * size
    for i in range(size):
        c.last_survival[i] = p.low * low[i] + p.high * high[i]
        c.last_integral[i] = area[i] + (p.low_area * low[i] + p.high_area * high[i])
    for length in range(c.lengths):
        for k in range(c.n):
            c.spent[length * c.n + k] = c.failed[k]
            c.alive[length * c.n + k] = 0.0
        _add_rows(c.spent + length * c.n, c.weights, _integral(c, length), c.classes, c.n)
        _add_rows(c.alive + length * c.n, c.weights, _survival(c, length), c.classes, c.n)
    for length in range(c.lengths - 1):
        rest = c.left - _time(c, length)
        p = place_of(c.cuts, c.intervals, rest)
        a, b = p.low_area + c.unsolved * p.low, p.high_area + c.unsolved * p.high
        low = c.survival + p.cut * size
        high = low + size
        area = c.integral + p.cut * size
        follow = c.follow + length * size
        for i in range(size):
            follow[i] = area[i] + (a * low[i] + b * high[i])
        for k in range(c.n):
            c.late[k] = INFINITY if c.barred[k] or c.failed[k] * c.longer >= rest else c.failed[k]
        for m in range(c.classes):
            v = _least_sum(follow + m * c.n, c.late, c.n)
            c.follow_least[length * c.classes + m] = v if v < rest + c.unsolved else rest + c.unsolved
    for m in range(c.classes):  # after all that is left there is nothing but not having solved it
        c.follow_least[(c.lengths - 1) * c.classes + m] = c.unsolved


cdef void _weights_after(const Case* c, Py_ssize_t length, Py_ssize_t algorithm) noexcept nogil:
    """Let a first run fail: set the weights that are left."""
    cdef const double* row = _survival(c, length)
    cdef Py_ssize_t m
    for m in range(c.classes):
        c.first[m] = c.weights[m] * row[m * c.n + algorithm]


cdef double _one_ahead(Case* c, Py_ssize_t length, Py_ssize_t algorithm) noexcept nogil:
    """Return the loss of a first run, shorter than all that is left, then the best other for the rest."""
    cdef Py_ssize_t k
    cdef double rest = c.left - _time(c, length), alive = c.alive[length * c.n + algorithm], v
    cdef double least = alive * (rest + c.unsolved)
    _weights_after(c, length, algorithm)
    memset(c.sums, 0, c.n * sizeof(double))
    _add_rows(c.sums, c.first, c.follow + length * c.classes * c.n, c.classes, c.n)
    for k in range(c.n):
        if k != algorithm and not c.barred[k] and c.failed[k] * c.longer < rest:
            v = c.sums[k] + alive * c.failed[k]
            least = v if v < least else least
    return c.spent[length * c.n + algorithm] + least


cdef void _all_one_ahead(Case* c) noexcept nogil:
    """Set the losses of all first runs that may be the best of their algorithm."""
    cdef Py_ssize_t length, k, m, i, q, n_bounds = 0
    cdef double v
    for length in range(c.lengths):
        for m in range(c.classes):
            c.first[m] = c.weights[m] * c.follow_least[length * c.classes + m]
        memset(c.sums, 0, c.n * sizeof(double))
        _add_rows(c.sums, c.first, _survival(c, length), c.classes, c.n)
        for k in range(c.n):
            i = length * c.n + k
            c.loss[i] = INFINITY
            if not c.barred[k] and _time(c, length) > c.failed[k] * c.longer:
                c.bounds[n_bounds].least = c.spent[i] + c.sums[k]
                c.bounds[n_bounds].number = i
                n_bounds += 1
    qsort(c.bounds, n_bounds, sizeof(Bound), &_compare)
    for k in range(c.n):
        c.best[k] = INFINITY
    for q in range(n_bounds):
        v, i = c.bounds[q].least, c.bounds[q].number
        length, k = i // c.n, i % c.n
        if length < c.lengths - 1:  # runs of all that is left are known already
            if _above(v, c.best[k]):
                continue
            v = _one_ahead(c, length, k)
        c.loss[i] = v
        c.best[k] = v if v < c.best[k] else c.best[k]


def best_plan(
    const double[:, :, ::1] survival,
    const double[:, :, ::1] integral,
    const double[::1] cuts,
    const double[:] weights,
    const double[:] failed,
    const unsigned char[::1] barred,
    double left,
    double unsolved,
    double nearly_all,
    double longer,
    bint whole,
    bint before_failures = False,
):
    """Return the algorithm and the time of the best first run, and the least loss by algorithm, shape (K,).

    None when nobody may run. Tables, with the cuts from 0 on, are those of `curve_tables`. The `weights` of the
    classes are those given the failures or, with `before_failures`, those before them.
    """
    cdef Case c
    cdef Py_ssize_t intervals = survival.shape[0] - 1, classes = survival.shape[1], n = survival.shape[2]
    cdef Py_ssize_t size = classes * n, i, k, start, best = -1
    cdef bint fresh = True
    cdef double* room
    cdef double* free_room
    if cuts.shape[0] != intervals + 1 or intervals < 1:
        raise ValueError(f"{cuts.shape[0]} cuts for tables of {intervals + 1}")
    if weights.shape[0] != classes or failed.shape[0] != n or barred.shape[0] != n:
        raise ValueError(f"expected {classes} weights, and {n} algorithms in failed and barred")
    c.n, c.classes, c.intervals = n, classes, intervals
    c.left, c.unsolved, c.nearly_all, c.longer = left, unsolved, nearly_all, longer
    c.lengths = 1
    while c.lengths <= intervals and cuts[c.lengths] < nearly_all * left:
        c.lengths += 1
    for k in range(n):
        fresh = fresh and failed[k] == 0.0
        if not barred[k] and left > failed[k] * longer:
            best = k
    if best < 0:
        return None
    c.cuts, c.barred, c.survival, c.integral = &cuts[0], &barred[0], &survival[0, 0, 0], &integral[0, 0, 0]
    losses_ = np.empty(n)
    cdef double[::1] losses = losses_
    cdef Py_ssize_t tables = 0 if fresh else 2 * (intervals + 1) * size
    cdef Py_ssize_t total = (
        tables + 2 * size + c.lengths * (size + classes + 3 * n) + 2 * classes + 4 * n
    )
    room = <double*>malloc(total * sizeof(double) + c.lengths * n * sizeof(Bound))
    if room == NULL:
        raise MemoryError
    with nogil:
        c.bounds = <Bound*>room
        free_room = <double*>(c.bounds + c.lengths * n)
        c.weights = _take(&free_room, classes)
        c.first = _take(&free_room, classes)
        c.failed = _take(&free_room, n)
        c.late = _take(&free_room, n)
        c.best = _take(&free_room, n)
        c.sums = _take(&free_room, n)
        c.spent = _take(&free_room, c.lengths * n)
        c.alive = _take(&free_room, c.lengths * n)
        c.loss = _take(&free_room, c.lengths * n)
        c.follow_least = _take(&free_room, c.lengths * classes)
        c.follow = _take(&free_room, c.lengths * size)
        c.last_survival = _take(&free_room, size)
        c.last_integral = _take(&free_room, size)
        for i in range(classes):
            c.weights[i] = weights[i]
        for k in range(n):
            c.failed[k] = failed[k]
        if not fresh:
            c.own_survival = _take(&free_room, (intervals + 1) * size)
            c.own_integral = _take(&free_room, (intervals + 1) * size)
            if before_failures:
                likely_failures(survival, cuts, failed, c.first)
                _weigh(c.weights, c.first, classes)
            _relate_to_failures(&c)
        _prepare(&c)
        _all_one_ahead(&c)
        start = (c.lengths - 1) * n
        best += start
        for i in range(start if whole else 0, c.lengths * n):
            if c.loss[i] < c.loss[best] or (i < best and c.loss[i] == c.loss[best]):
                best = i
        for k in range(n):
            losses[k] = c.best[k] if c.best[k] < left + unsolved else left + unsolved
        i = best // n
    try:
        return best % n, _time(&c, i), losses_
    finally:
        free(room)


cdef void _weigh(double* weights, double* likely, Py_ssize_t classes) noexcept nogil:
    """Make weights those given a likelihood, by Bayes' rule; where nothing is likely, they stay."""
    cdef double total
    cdef Py_ssize_t m
    for m in range(classes):
        likely[m] *= weights[m]
    total = _sum(likely, classes)
    if total > 0.0:
        for m in range(classes):
            weights[m] = likely[m] / total


cdef inline double* _take(double** room, Py_ssize_t count) noexcept nogil:
    """Return the next so many numbers of the room."""
    cdef double* taken = room[0]
    room[0] += count
    return taken
