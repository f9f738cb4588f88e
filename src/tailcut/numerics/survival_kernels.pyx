# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: what past runs say of log-odds, of new instances, and who is like whom.

`tailcut.schedules.survival_forest` says what is computed, and calls this. Arithmetic is in double precision
and in a fixed order. Times are fractions of the cutoff; `end` is 0 where an algorithm has not run.
"""

import numpy as np

from libc.math cimport exp, fabs, log, log1p
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from tailcut.numerics.plan_kernels cimport likely_failures

cdef double LEAST = 1e-12  # a hazard, and a survival within an interval, are at least this
cdef double TINY = 1e-300  # what is divided by is at least this
cdef double PASSED = 1.0 + 1e-9  # a slice that ends at a cut has passed it


cdef inline double _softplus(double v) noexcept nogil:
    """Return log(1 + exp(v))."""
    return (v if v > 0.0 else 0.0) + log1p(exp(-fabs(v)))


cdef inline double _expit(double v) noexcept nogil:
    return 1.0 / (1.0 + exp(-v)) if v > -500.0 else 0.0


cdef struct Passage:
    # The intervals, from `start` up to `stop`, that a run passed and that teach something.
    Py_ssize_t start, stop


cdef Passage _pass(
    double known,
    double end,
    bint solved,
    const double* cuts,
    Py_ssize_t intervals,
    double trace,
    double* weights,
    double* answers,
) noexcept nogil:
    """Set how much of each interval a run passed, and 1 where it solved, (J,) each; `cuts` are their ends."""
    cdef Passage passage
    cdef Py_ssize_t last = 0, j, start = -1, stop = 0
    cdef double low = 0.0, passed
    for j in range(intervals):
        weights[j] = 0.0
        answers[j] = 0.0
    while last < intervals - 1 and cuts[last] < end:
        last += 1
    for j in range(last + 1):
        passed = ((cuts[j] if cuts[j] < end else end) - (low if low > known else known)) / (cuts[j] - low)
        weights[j] = 0.0 if passed < 0.0 else (1.0 if passed > 1.0 else passed)
        low = cuts[j]
    if solved:
        weights[last] = 1.0
        answers[last] = 1.0
    for j in range(last + 1):
        if weights[j] >= trace:
            start = j if start < 0 else start
            stop = j + 1
    passage.start = start if start > 0 else 0
    passage.stop = stop
    return passage


cdef void _answer(
    const double[:, :, ::1] odds,
    Py_ssize_t algorithm,
    Py_ssize_t start,
    Py_ssize_t count,
    const double* solved,
    const double* weights,
    double* likely,
) noexcept nogil:
    """Set how likely it was, in each class, that a run did this in `count` intervals, (M,)."""
    cdef Py_ssize_t m, i
    cdef double v, total
    for m in range(odds.shape[2]):
        total = 0.0
        for i in range(count):
            v = odds[algorithm, start + i, m]
            total -= weights[i] * _softplus(-v if solved[i] > 0.0 else v)
        likely[m] = exp(total)


cdef void _say(
    const double* classes,
    const double* before,
    const double* after,
    Py_ssize_t count,
    Py_ssize_t n_hardness,
    double* was,
    double* now,
    double* by,
) noexcept nogil:
    """Set the classes of hardness before and after an outcome, and how likely it was by both kinds of classes."""
    cdef double known[2]
    cdef double joint[2]
    cdef double prior = 0.0, b, a
    cdef Py_ssize_t m
    cdef int near
    known[0] = known[1] = joint[0] = joint[1] = 0.0
    for m in range(count):
        near = m >= n_hardness
        b = classes[m] * before[m]
        a = classes[m] * after[m]
        known[near] += b
        joint[near] += a
        if not near:
            was[m] = b
            now[m] = a
            prior += classes[m]
    for m in range(n_hardness):
        was[m] = was[m] / known[0] if known[0] > 0.0 else classes[m] / prior
        now[m] = now[m] / joint[0] if joint[0] > 0.0 else classes[m] / prior
    by[0] = joint[1] / (known[1] if known[1] > TINY else TINY)
    by[1] = joint[0] / (known[0] if known[0] > TINY else TINY)


def intervals_passed(double known, double end, bint solved, const double[::1] cuts, double trace):
    """Return what a run from scratch to `end` says of the intervals between `cuts`: see `schedules.view.passed`."""
    weights_ = np.empty(cuts.shape[0])
    answers_ = np.empty(cuts.shape[0])
    cdef double[::1] weights = weights_
    cdef double[::1] answers = answers_
    cdef Passage p = _pass(known, end, solved, &cuts[0], cuts.shape[0], trace, &weights[0], &answers[0])
    return p.start, answers_[p.start : p.stop], weights_[p.start : p.stop]


def run_likelihood(
    const double[:, :, ::1] odds,
    Py_ssize_t algorithm,
    Py_ssize_t start,
    const double[::1] solved,
    const double[::1] weights,
):
    """Return how likely it was, in each class of log-odds (K, J, M), that a run did this in intervals, shape (M,)."""
    cdef Py_ssize_t count = solved.shape[0]
    if not 0 <= algorithm < odds.shape[0] or start < 0 or start + count > odds.shape[1]:
        raise IndexError(f"algorithm {algorithm}, {count} intervals from {start} on")
    if weights.shape[0] != count:
        raise ValueError("as many weights as intervals are needed")
    likely_ = np.ones(odds.shape[2])
    cdef double[::1] likely = likely_
    if count:
        _answer(odds, algorithm, start, count, &solved[0], &weights[0], &likely[0])
    return likely_


def weigh_outcome(
    const double[::1] classes, const double[::1] before, const double[::1] after, Py_ssize_t n_hardness
):
    """Return what an outcome says of the classes (M,), whose likelihoods were `before` and are `after` it.

    First the probabilities of the classes of hardness, the first `n_hardness`, before and after; then how likely
    the outcome was by the other classes, and by those of hardness.
    """
    cdef Py_ssize_t count = classes.shape[0]
    cdef double by[2]
    if before.shape[0] != count or after.shape[0] != count or not 0 < n_hardness <= count:
        raise ValueError(f"{count} classes, {n_hardness} of hardness: expected as many likelihoods")
    was_ = np.empty(n_hardness)
    now_ = np.empty(n_hardness)
    cdef double[::1] was = was_
    cdef double[::1] now = now_
    _say(&classes[0], &before[0], &after[0], count, n_hardness, &was[0], &now[0], by)
    return was_, now_, by[0], by[1]


def weigh_run(
    const double[:, :, ::1] odds,
    const double[:, :, ::1] survival,
    const double[::1] cuts,
    const double[::1] classes,
    Py_ssize_t n_hardness,
    const double[::1] failed,
    Py_ssize_t algorithm,
    double end,
    bint solved,
    double trace,
):
    """Return what a run says of the intervals that it passed and of the classes, after the failures before it.

    None if it passed none, else what `intervals_passed` returns, and then what `weigh_outcome` does; tables and
    cuts, from 0 on, are those of `plan_kernels.curve_tables`.
    """
    cdef Py_ssize_t intervals = odds.shape[1], count = classes.shape[0], m
    cdef double by[2]
    cdef double* before
    cdef double* after
    cdef Passage p
    if not 0 <= algorithm < odds.shape[0] == survival.shape[2] == failed.shape[0]:
        raise IndexError(f"algorithm {algorithm} of {odds.shape[0]}, and failures of {failed.shape[0]}")
    if not intervals == cuts.shape[0] - 1 == survival.shape[0] - 1 or not 0 < n_hardness <= count:
        raise ValueError(f"{cuts.shape[0]} cuts, 0 included, for {intervals} intervals; {n_hardness} of {count}")
    if odds.shape[2] != count or survival.shape[1] != count:
        raise ValueError(f"{count} classes: expected as many in the tables")
    weights_ = np.empty(intervals)
    answers_ = np.empty(intervals)
    cdef double[::1] weights = weights_
    cdef double[::1] answers = answers_
    p = _pass(failed[algorithm], end, solved, &cuts[1], intervals, trace, &weights[0], &answers[0])
    if p.stop == 0:
        return None
    was_ = np.empty(n_hardness)
    now_ = np.empty(n_hardness)
    cdef double[::1] was = was_
    cdef double[::1] now = now_
    before = <double*>malloc(2 * count * sizeof(double))
    if before == NULL:
        raise MemoryError
    after = before + count
    likely_failures(survival, cuts, failed, before)
    _answer(odds, algorithm, p.start, p.stop - p.start, &answers[p.start], &weights[p.start], after)
    for m in range(count):
        after[m] = before[m] * after[m]
    _say(&classes[0], before, after, count, n_hardness, &was[0], &now[0], by)
    free(before)
    return p.start, answers_[p.start : p.stop], weights_[p.start : p.stop], was_, now_, by[0], by[1]


def learn_intervals(
    double[::1] level,
    double[::1] level_variance,
    double[::1] common,
    double[::1] skill,
    double[::1] skill_variance,
    double[:, ::1] turn,
    double[:, ::1] turn_variance,
    Py_ssize_t algorithm,
    Py_ssize_t start,
    const double[::1] solved,
    const double[::1] weights,
    const double[:, ::1] hardness,
    const double[::1] classes,
):
    """Move means and variances, in place, by what a run did in the intervals from `start` on.

    See `tailcut.schedules.hazards`; `common` has a mean and a variance.
    """
    cdef Py_ssize_t i, j, m, a = algorithm
    cdef double middle, chance, slope, curvature, gain, all_slopes = 0.0, all_curvatures = 0.0
    if not 0 <= a < skill.shape[0] or start < 0 or start + solved.shape[0] > level.shape[0]:
        raise IndexError(f"algorithm {a}, {solved.shape[0]} intervals from {start} on")
    if weights.shape[0] != solved.shape[0] or hardness.shape[0] != classes.shape[0]:
        raise ValueError("as many weights as intervals, and as many probabilities as classes are needed")
    if hardness.shape[1] != level.shape[0]:
        raise ValueError(f"hardness in {level.shape[0]} intervals is needed")
    for i in range(solved.shape[0]):
        j = start + i
        middle = level[j] + skill[a] + turn[a, j] + common[0]
        slope = 0.0
        curvature = 0.0
        for m in range(classes.shape[0]):
            chance = _expit(middle + hardness[m, j])
            slope += classes[m] * (solved[i] - chance)
            curvature += classes[m] * chance * (1.0 - chance)
        slope *= weights[i]
        curvature *= weights[i]
        gain = 1.0 / (
            1.0 + curvature * (level_variance[j] + skill_variance[a] + turn_variance[a, j] + common[1])
        )
        slope *= gain
        curvature *= gain
        level[j] += level_variance[j] * slope
        level_variance[j] -= level_variance[j] * level_variance[j] * curvature
        skill[a] += skill_variance[a] * slope
        skill_variance[a] -= skill_variance[a] * skill_variance[a] * curvature
        turn[a, j] += turn_variance[a, j] * slope
        turn_variance[a, j] -= turn_variance[a, j] * turn_variance[a, j] * curvature
        all_slopes += slope
        all_curvatures += curvature
    common[0] += common[1] * all_slopes
    common[1] /= 1.0 + all_curvatures * common[1]


def slopes(
    const double[:, ::1] odds,
    const double[:, ::1] end,
    const uint8_t[:, ::1] solved,
    const int32_t[:, ::1] order,
    const double[::1] cuts,
    const double[:, ::1] shift,
    const double[::1] frequency,
    double least,
):
    """Return slope and curvature (n, K) of the log-likelihood of each run, and the classes (n, M) of each instance.

    The likelihood is that of a shift of the log-odds (K, J) of its algorithm, marginal over the classes of
    hardness, given the runs made before it on the same instance, which have a lower `order`; recorded runs,
    of order 0, are given each other. The probabilities of the classes returned are those given all runs on
    the instance. A curvature is at least `least`; where there was no run both are 0.
    """
    cdef Py_ssize_t n = end.shape[0], algorithms = end.shape[1], intervals = cuts.shape[0]
    cdef Py_ssize_t classes = shift.shape[0], i, a, b, j, m
    slope_ = np.zeros((n, algorithms))
    curvature_ = np.zeros((n, algorithms))
    probability_ = np.empty((n, classes))
    cdef double[:, ::1] slope = slope_
    cdef double[:, ::1] curvature = curvature_
    cdef double[:, ::1] probability = probability_
    cdef double[:, ::1] by_class = np.empty((algorithms, classes))
    cdef double[:, ::1] curved = np.empty((algorithms, classes))
    cdef double[:, ::1] likely = np.empty((algorithms, classes))
    cdef double[::1] logs = np.empty(classes)
    cdef double[::1] given = np.empty(classes)
    cdef double low, part, chance, v, likelihood, g, h, best, total, mean, square, share
    cdef bint here
    with nogil:
        for i in range(n):
            for m in range(classes):
                logs[m] = log(frequency[m])
            for a in range(algorithms):
                if end[i, a] <= 0.0:
                    continue
                for m in range(classes):
                    likelihood = 0.0
                    g = 0.0
                    h = 0.0
                    low = 0.0
                    for j in range(intervals):
                        if low >= end[i, a]:
                            break
                        here = solved[i, a] and (end[i, a] <= cuts[j] or j == intervals - 1)
                        part = 1.0
                        if not here and end[i, a] < cuts[j]:
                            part = (end[i, a] - low) / (cuts[j] - low)
                        v = odds[a, j] + shift[m, j]
                        chance = _expit(v)
                        likelihood -= part * _softplus(-v if here else v)
                        g += part * ((1.0 if here else 0.0) - chance)
                        h += part * chance * (1.0 - chance)
                        low = cuts[j]
                        if here:
                            break
                    logs[m] += likelihood
                    likely[a, m] = likelihood
                    by_class[a, m] = g
                    curved[a, m] = h
            best = logs[0]
            for m in range(1, classes):
                if logs[m] > best:
                    best = logs[m]
            total = 0.0
            for m in range(classes):
                probability[i, m] = exp(logs[m] - best)
                total += probability[i, m]
            for m in range(classes):
                probability[i, m] /= total
            for a in range(algorithms):
                if end[i, a] <= 0.0:
                    continue
                for m in range(classes):
                    given[m] = log(frequency[m]) + likely[a, m]
                for b in range(algorithms):
                    here = order[i, b] < order[i, a] or order[i, a] == 0 == order[i, b]
                    if here and b != a and end[i, b] > 0.0:
                        for m in range(classes):
                            given[m] += likely[b, m]
                best = given[0]
                for m in range(1, classes):
                    if given[m] > best:
                        best = given[m]
                total = 0.0
                mean = 0.0
                square = 0.0
                h = 0.0
                for m in range(classes):
                    share = exp(given[m] - best)
                    total += share
                    mean += share * by_class[a, m]
                    square += share * by_class[a, m] * by_class[a, m]
                    h += share * curved[a, m]
                mean /= total
                h = h / total - (square / total - mean * mean)
                slope[i, a] = mean
                curvature[i, a] = h if h > least else least
    return slope_, curvature_, probability_


def share_paths(
    const int64_t[::1] roots,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] child,
    const int32_t[:, ::1] spans,
    const int32_t[:, ::1] members,
    const double[::1] x,
    double shrinkage,
    int64_t largest,
    double[::1] weight,
):
    """Add to the weight (n,) of each instance what it counts for `x` in trees whose nodes shrink to their parents.

    A node with m instances has m / (m + shrinkage) of what the nodes below it on the path of `x` have left over,
    in equal parts. Nodes with more than `largest` instances have next to nothing, and count for none.
    """
    cdef int64_t path[128]
    cdef int64_t t, node, depth, q, low, high
    cdef double left, size, part
    for t in range(roots.shape[0]):
        node = roots[t]
        path[0] = node
        depth = 1
        while feature[node] >= 0 and depth < 128:
            node = child[node] + (x[feature[node]] > threshold[node])
            path[depth] = node
            depth += 1
        left = 1.0
        while depth > 0:
            depth -= 1
            low = spans[path[depth], 0]
            high = spans[path[depth], 1]
            if high - low > largest and left < 1.0:
                break
            size = <double>(high - low)
            part = left / (size + shrinkage)
            for q in range(low, high):
                weight[members[t, q]] += part
            left *= shrinkage / (size + shrinkage)


def past_classes(
    const double[:, ::1] end, const int64_t[::1] rows, const double[::1] weight, double trust, double least
):
    """Return which of these similar instances are classes of their own, and how likely each is, shape (m,) each.

    An instance counts by its weight, by the trust in similar ones, and by the share of algorithms that ran there.
    Those of less than `least` are left out.
    """
    cdef Py_ssize_t count = rows.shape[0], algorithms = end.shape[1], kept = 0, r, a, ran
    cdef double likely
    if weight.shape[0] != count:
        raise ValueError("as many weights as rows are needed")
    rows_ = np.empty(count, dtype=np.int64)
    likely_ = np.empty(count)
    cdef int64_t[::1] found = rows_
    cdef double[::1] probability = likely_
    for r in range(count):
        if not 0 <= rows[r] < end.shape[0]:
            raise IndexError(f"row {rows[r]} of {end.shape[0]}")
        ran = 0
        for a in range(algorithms):
            ran += end[rows[r], a] > 0.0
        likely = trust * weight[r] * (<double>ran / <double>algorithms)
        if likely >= least:
            found[kept] = rows[r]
            probability[kept] = likely
            kept += 1
    return rows_[:kept], likely_[:kept]


def keep_run(
    double[:, ::1] ends,
    uint8_t[:, ::1] solutions,
    int32_t[:, ::1] orders,
    double[:, ::1] classes,
    Py_ssize_t row,
    Py_ssize_t algorithm,
    double end,
    bint solved,
    bint recorded,
    const double[::1] known,
):
    """Write a run on the instance in this row, unless a longer one or a solution is known, and its classes (M,)."""
    cdef Py_ssize_t a, m
    cdef int32_t last = 0
    if not 0 <= row < ends.shape[0] or not 0 <= algorithm < ends.shape[1]:
        raise IndexError(f"algorithm {algorithm} in row {row}")
    if known.shape[0] != classes.shape[1]:
        raise ValueError(f"expected {classes.shape[1]} classes")
    if solved or (end > ends[row, algorithm] and not solutions[row, algorithm]):
        ends[row, algorithm] = end
        solutions[row, algorithm] = solved
        for a in range(orders.shape[1]):
            last = orders[row, a] if orders[row, a] > last else last
        orders[row, algorithm] = 0 if recorded else last + 1
    for m in range(known.shape[0]):
        classes[row, m] = known[m]


def odds_by_class(
    const double[:, ::1] base,
    const double[:, ::1] shift,
    const double[:, ::1] end,
    const uint8_t[:, ::1] solved,
    const double[:, ::1] hardness,
    const int64_t[::1] rows,
    const double[::1] cuts,
    double scale,
    double doubt,
    double tail,
):
    """Return the log-odds of a solution in each interval and class, (K, J, M + m).

    The first classes are those of hardness, which shift (M, J) the log-odds (K, J); in each of the others an instance
    is like one of these rows, whose own shifts are their `hardness` (m, J). See
    `tailcut.schedules.survival_forest.SurvivalForest.odds`.
    """
    cdef Py_ssize_t algorithms = base.shape[0], intervals = cuts.shape[0], count = rows.shape[0], r, a, j
    cdef Py_ssize_t hard = shift.shape[0]
    if base.shape[1] != intervals or end.shape[1] != algorithms or solved.shape[1] != algorithms:
        raise ValueError(f"log-odds of {algorithms} algorithms in {intervals} intervals are needed")
    if hardness.shape[0] != count or hardness.shape[1] != intervals or shift.shape[1] != intervals:
        raise ValueError(f"the hardness of each row in {intervals} intervals is needed")
    odds_ = np.empty((algorithms, intervals, hard + count))
    cdef double[:, :, ::1] odds = odds_
    cdef double e, v, known, by_base, before, after, ratio
    cdef int64_t row
    for r in range(count):
        if not 0 <= rows[r] < end.shape[0]:
            raise IndexError(f"row {rows[r]} of {end.shape[0]}")
    with nogil:
        for a in range(algorithms):
            for j in range(intervals):
                for r in range(hard):
                    odds[a, j, r] = base[a, j] + shift[r, j]
        for r in range(count):
            row = rows[r]
            for a in range(algorithms):
                e = end[row, a]
                by_base = 1.0
                before = 1.0
                for j in range(intervals):
                    v = base[a, j] + hardness[r, j]
                    if e <= 0.0 or (not solved[row, a] and cuts[j] > e * PASSED):
                        odds[a, j, hard + r] = v
                        continue
                    by_base *= _expit(-v)
                    known = log(cuts[j] / e) / scale
                    if solved[row, a]:
                        known = _expit(-known)
                    else:  # it would have taken longer than that, by a factor that is exponential in log-time
                        known = 1.0 - (scale / tail) * _softplus(known)
                        if known < LEAST:
                            known = LEAST
                    after = (1.0 - doubt) * known + doubt * by_base
                    ratio = after / before
                    ratio = LEAST if ratio < LEAST else (1.0 - LEAST if ratio > 1.0 - LEAST else ratio)
                    odds[a, j, hard + r] = log((1.0 - ratio) / ratio)
                    before = after
    return odds_
