# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: growing one tree with shrinkage, and walking down many.

`tailcut.models.growing` says what is computed, and calls this. Arithmetic is in double precision, in a fixed
order, and randomness comes from the seed alone: the same bits on every run.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    /* Where the C library can choose at load time, there is a second version for wider vectors: same bits. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define TAILCUT_WIDE __attribute__((target_clones("avx2", "default")))
    #else
    #define TAILCUT_WIDE
    #endif

    /* Write 1 for each value up to `cut` and 0 for the others; return how many there are. */
    TAILCUT_WIDE
    static int64_t tailcut_split(const double *restrict own, int64_t size, double cut, double *restrict is_left) {
        int64_t n_left = 0;
        for (int64_t q = 0; q < size; q++) {
            is_left[q] = own[q] <= cut ? 1.0 : 0.0;
            n_left += own[q] <= cut;
        }
        return n_left;
    }
    """
    int64_t tailcut_split(const double* own, int64_t size, double cut, double* is_left) noexcept nogil


cdef int64_t FEW = 32
"""Nodes of so many instances are small."""


cdef inline uint64_t _draw(uint64_t* state) noexcept nogil:
    """Return the next 64 random bits (SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    cdef uint64_t z
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline double _uniform(uint64_t* state) noexcept nogil:
    """Return a number in [0, 1)."""
    return <double>(_draw(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline int64_t _below(uint64_t* state, int64_t n) noexcept nogil:
    """Return one of n whole numbers."""
    return <int64_t>(_uniform(state) * <double>n)


cdef void _gather(
    const double* values,
    int64_t stride,
    const int32_t* members,
    int64_t size,
    double* own,
    double* least,
    double* greatest,
) noexcept nogil:
    """Write the members' values to `own`, and the least and the greatest of them."""
    cdef int64_t q
    cdef double v, low = values[members[0] * stride], high = low
    for q in range(size):
        v = values[members[q] * stride]
        own[q] = v
        low = v if v < low else low
        high = v if v > high else high
    least[0] = low
    greatest[0] = high


cdef struct Runs:
    # The runs in a node, algorithm after algorithm: their sums then need no memory but a register each.
    int64_t n_ran  # algorithms that ran, numbered in the order of their numbers
    int64_t* start  # the first run of each of them, and behind the last one the number of runs
    int32_t* owner  # the instance of each run
    double* cost  # times its weight
    double* heaviness  # its weight
    double shrinkage  # w
    double* here  # what the node holds of each algorithm, p_a
    double* error  # the sum of (y - p_a)


cdef double _gain(const Runs* node, const double* is_left) noexcept nogil:
    """Return what a split into these instances and the others gains."""
    cdef int64_t r, p
    cdef double gain = 0.0, total, count, count_right, left, e, rest
    for p in range(node.n_ran):
        total = 0.0
        count = 0.0
        count_right = 0.0
        for r in range(node.start[p], node.start[p + 1]):
            left = is_left[node.owner[r]]
            total += left * node.cost[r]
            count += left * node.heaviness[r]
            count_right += (1.0 - left) * node.heaviness[r]
        e = total - count * node.here[p]
        rest = node.error[p] - e
        gain += e * e * (1.0 / (count + node.shrinkage))
        gain += rest * rest * (1.0 / (count_right + node.shrinkage))
    return gain


def grow_tree(
    const double[:, ::1] x,
    const double[:, ::1] columns,
    const int64_t[::1] first,
    const int64_t[::1] algorithm,
    const double[::1] target,
    const double[::1] weight,
    const double[::1] root,
    int64_t candidates,
    int64_t min_leaf,
    int64_t max_depth,
    double shrinkage,
    uint64_t seed,
):
    """Return feature, threshold, child (M,) of the nodes of one tree, the values (L, K) of its leaves, the spans
    (M, 2) of the nodes, and its members (n,).

    `x` has the features, shape (n, d), and `columns` the same, shape (d, n): a large node reads a feature of
    all its instances, a small one all features of its instances. The runs of instance i are those from first[i] up
    to first[i + 1]. A leaf has feature -1 and its row of the values as child; other nodes have two children,
    `child` for values up to the threshold and the one behind it. The instances of a node are those members
    that its span says. Runs count by their weights.
    """
    cdef int64_t d = columns.shape[0], n = first.shape[0] - 1, k = root.shape[0]
    cdef int64_t most = 2 * n + 1, deepest = max_depth + 2
    feature_ = np.empty(most, dtype=np.int32)
    threshold_ = np.empty(most)
    child_ = np.empty(most, dtype=np.int32)
    leaves_ = np.empty((n + 1, k))
    spans_ = np.empty((most, 2), dtype=np.int32)
    members_ = np.arange(n, dtype=np.int32)
    values_ = np.empty((deepest + 1, k))  # of the nodes on the stack
    cdef int32_t[::1] feature = feature_
    cdef double[::1] threshold = threshold_
    cdef int32_t[::1] child = child_
    cdef double[:, ::1] leaves = leaves_
    cdef int32_t[:, ::1] spans = spans_
    cdef double[:, ::1] values = values_
    cdef int64_t[::1] stack_node = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_low = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_high = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_depth = np.empty(deepest + 1, dtype=np.int64)
    cdef int32_t[::1] members = members_
    cdef int32_t[::1] right = np.empty(n, dtype=np.int32)
    cdef int64_t[::1] deck = np.arange(d, dtype=np.int64)
    cdef double[::1] value = np.empty(k)
    # Of the node at hand: its values of a feature, who is on the left of a split, its runs, and who ran in it.
    cdef double[::1] own = np.empty(n)
    cdef double[::1] is_left = np.empty(n)
    cdef int32_t[::1] owner = np.empty(target.shape[0], dtype=np.int32)
    cdef double[::1] cost = np.empty(target.shape[0])
    cdef double[::1] heaviness = np.empty(target.shape[0])
    cdef int64_t[::1] start = np.empty(k + 1, dtype=np.int64)
    cdef int64_t[::1] place = np.empty(k, dtype=np.int64)
    cdef double[::1] here = np.empty(k)
    cdef double[::1] error = np.empty(k)
    cdef double[::1] total = np.empty(k)
    cdef double[::1] count = np.empty(k)
    cdef int64_t[::1] n_own = np.empty(k, dtype=np.int64)
    cdef int64_t nodes = 1, n_leaves = 0, top = 1, node, low, high, depth, size, a, q, i, r, c, f, tried
    cdef int64_t in_left, in_right, best_feature, middle, n_ran, n_runs
    cdef double best, best_threshold, least, greatest, cut, gain
    cdef Runs node_runs
    cdef uint64_t state = seed
    node_runs.owner, node_runs.cost, node_runs.heaviness = &owner[0], &cost[0], &heaviness[0]
    node_runs.start, node_runs.here, node_runs.error = &start[0], &here[0], &error[0]
    node_runs.shrinkage = shrinkage
    with nogil:
        stack_node[0] = 0
        stack_low[0] = 0
        stack_high[0] = n
        stack_depth[0] = 0
        for a in range(k):
            values[0, a] = root[a]
        while top > 0:
            top -= 1
            node = stack_node[top]
            low = stack_low[top]
            high = stack_high[top]
            depth = stack_depth[top]
            size = high - low
            spans[node, 0] = <int32_t>low
            spans[node, 1] = <int32_t>high
            for a in range(k):
                value[a] = values[top, a]
                total[a] = 0.0
                count[a] = 0.0
                n_own[a] = 0
            for q in range(low, high):
                i = members[q]
                for r in range(first[i], first[i + 1]):
                    total[algorithm[r]] += weight[r] * target[r]
                    count[algorithm[r]] += weight[r]
                    n_own[algorithm[r]] += 1
            for a in range(k):
                if count[a] > 0.0:
                    value[a] += (total[a] - count[a] * value[a]) / (count[a] + shrinkage)
            if size >= 2 * min_leaf and depth < max_depth:
                n_ran = 0
                n_runs = 0
                for a in range(k):
                    place[a] = n_runs  # where its next run goes
                    if count[a] > 0.0:
                        start[n_ran] = n_runs
                        here[n_ran] = value[a]
                        error[n_ran] = total[a] - count[a] * value[a]
                        n_ran += 1
                        n_runs += n_own[a]
                start[n_ran] = n_runs
                node_runs.n_ran = n_ran
                for q in range(size):
                    i = members[low + q]
                    for r in range(first[i], first[i + 1]):
                        a = algorithm[r]
                        if count[a] > 0.0:
                            owner[place[a]] = <int32_t>q
                            cost[place[a]] = weight[r] * target[r]
                            heaviness[place[a]] = weight[r]
                            place[a] += 1
            best = 1e-12
            best_feature = -1
            best_threshold = 0.0
            tried = 0
            if size >= 2 * min_leaf and depth < max_depth:
                for c in range(d):
                    # Features are drawn without replacement; those that are the same everywhere do not count.
                    i = c + _below(&state, d - c)
                    f = deck[i]
                    deck[i] = deck[c]
                    deck[c] = f
                    if size > FEW:
                        _gather(&columns[f, 0], 1, &members[low], size, &own[0], &least, &greatest)
                    else:
                        _gather(&x[0, f], d, &members[low], size, &own[0], &least, &greatest)
                    if greatest <= least:
                        continue
                    tried += 1
                    cut = least + (greatest - least) * _uniform(&state)
                    in_left = tailcut_split(&own[0], size, cut, &is_left[0])
                    if in_left >= min_leaf and size - in_left >= min_leaf:
                        gain = _gain(&node_runs, &is_left[0])
                        if gain > best:
                            best = gain
                            best_feature = f
                            best_threshold = cut
                    # A node of few instances has few splits: to try more than it has instances finds no others.
                    if tried >= candidates or tried >= size:
                        break
            if best_feature < 0:
                feature[node] = -1
                threshold[node] = 0.0
                child[node] = <int32_t>n_leaves
                for a in range(k):
                    leaves[n_leaves, a] = value[a]
                n_leaves += 1
                continue
            middle = low
            in_right = 0
            for q in range(low, high):
                i = members[q]
                if columns[best_feature, i] <= best_threshold:
                    members[middle] = <int32_t>i
                    middle += 1
                else:
                    right[in_right] = <int32_t>i
                    in_right += 1
            for q in range(in_right):
                members[middle + q] = right[q]
            feature[node] = <int32_t>best_feature
            threshold[node] = best_threshold
            child[node] = <int32_t>nodes
            for c in range(2):
                stack_node[top] = nodes + 1 - c
                stack_low[top] = middle if c == 0 else low
                stack_high[top] = high if c == 0 else middle
                stack_depth[top] = depth + 1
                for a in range(k):
                    values[top, a] = value[a]
                top += 1
            nodes += 2
    return (
        feature_[:nodes].copy(),
        threshold_[:nodes].copy(),
        child_[:nodes].copy(),
        leaves_[:n_leaves].copy(),
        spans_[:nodes].copy(),
        members_,
    )


def reach(
    const int64_t[::1] roots,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] child,
    const double[::1] x,
):
    """Return the row of the leaf that `x` falls into, for each of the trees that start at `roots`, (T,)."""
    rows_ = np.empty(roots.shape[0], dtype=np.int64)
    cdef int64_t[::1] rows = rows_
    cdef int64_t t, node
    for t in range(roots.shape[0]):
        node = roots[t]
        while feature[node] >= 0:
            node = child[node] + (x[feature[node]] > threshold[node])
        rows[t] = child[node]
    return rows_


def mean_leaf(
    const int64_t[::1] roots,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] child,
    const double[:, ::1] loss,
    const double[::1] x,
):
    """Return the mean over the trees of the losses of the leaf that `x` falls into, shape (K,)."""
    found = np.zeros(loss.shape[1])
    cdef double[::1] out = found
    cdef int64_t t, node, a, n_trees = roots.shape[0], k = loss.shape[1]
    cdef const double* leaf
    for t in range(n_trees):
        node = roots[t]
        while feature[node] >= 0:
            node = child[node] + (x[feature[node]] > threshold[node])
        leaf = &loss[child[node], 0]
        for a in range(k):
            out[a] += leaf[a]
    for a in range(k):
        out[a] /= n_trees
    return found
