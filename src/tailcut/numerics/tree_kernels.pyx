# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: growing one tree with shrinkage, and walking down many.

`tailcut.models.growing` says what is computed, and calls this. Arithmetic is in double precision, in a fixed
order, and randomness comes from the seed alone: the same bits on every run.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t


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
    # The runs in a node, instance after instance.
    int64_t n_runs
    int64_t n_ran  # algorithms that ran, numbered in the order of their numbers
    double* own  # a feature's value of each instance
    int32_t* owner  # the instance of each run
    int32_t* runner  # its algorithm, by that number
    double* cost  # times its weight
    double* heaviness  # its weight
    double shrinkage  # w
    double* here  # what the node holds of each algorithm, p_a
    double* error  # the sum of (y - p_a)
    double* total  # room for sums and weights of those that go left, and behind them of those that go right
    double* count


cdef double _gain(const Runs* node, double cut) noexcept nogil:
    """Return what a split at `cut` gains."""
    cdef int64_t n_ran = node.n_ran, r, p
    cdef double* total = node.total
    cdef double* count = node.count
    cdef const double* heaviness = node.heaviness
    cdef const double* own = node.own
    cdef const int32_t* owner = node.owner
    cdef const int32_t* runner = node.runner
    cdef const double* cost = node.cost
    cdef double gain = 0.0, e, rest
    for p in range(2 * n_ran):
        total[p] = 0.0
        count[p] = 0.0
    for r in range(node.n_runs):
        p = runner[r] + (n_ran if own[owner[r]] > cut else 0)
        total[p] += cost[r]
        count[p] += heaviness[r]
    for p in range(n_ran):
        e = total[p] - count[p] * node.here[p]
        rest = node.error[p] - e
        gain += e * e * (1.0 / (count[p] + node.shrinkage))
        gain += rest * rest * (1.0 / (count[p + n_ran] + node.shrinkage))
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
    # Of the node at hand: its values of a feature, its runs, instance after instance, and who ran in it.
    cdef double[::1] own = np.empty(n)
    cdef int32_t[::1] owner = np.empty(target.shape[0], dtype=np.int32)
    cdef int32_t[::1] runner = np.empty(target.shape[0], dtype=np.int32)
    cdef double[::1] cost = np.empty(target.shape[0])
    cdef double[::1] heaviness = np.empty(target.shape[0])
    cdef int32_t[::1] place = np.empty(k, dtype=np.int32)
    cdef double[::1] here = np.empty(k)
    cdef double[::1] error = np.empty(k)
    # Of a split: sums and weights of those that go left, and behind them of those that go right.
    cdef double[::1] side_total = np.empty(2 * k)
    cdef double[::1] side_count = np.empty(2 * k)
    cdef double[::1] total = np.empty(k)
    cdef double[::1] count = np.empty(k)
    cdef int64_t nodes = 1, n_leaves = 0, top = 1, node, low, high, depth, size, a, q, i, r, c, f, tried
    cdef int64_t in_left, in_right, best_feature, middle, n_ran, n_runs
    cdef double best, best_threshold, least, greatest, cut, gain
    cdef Runs node_runs
    cdef uint64_t state = seed
    node_runs.own, node_runs.owner, node_runs.runner = &own[0], &owner[0], &runner[0]
    node_runs.cost, node_runs.here, node_runs.error = &cost[0], &here[0], &error[0]
    node_runs.heaviness, node_runs.total, node_runs.count = &heaviness[0], &side_total[0], &side_count[0]
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
            for q in range(low, high):
                i = members[q]
                for r in range(first[i], first[i + 1]):
                    total[algorithm[r]] += weight[r] * target[r]
                    count[algorithm[r]] += weight[r]
            for a in range(k):
                if count[a] > 0.0:
                    value[a] += (total[a] - count[a] * value[a]) / (count[a] + shrinkage)
            if size >= 2 * min_leaf and depth < max_depth:
                n_ran = 0
                for a in range(k):
                    if count[a] > 0.0:
                        place[a] = <int32_t>n_ran
                        here[n_ran] = value[a]
                        error[n_ran] = total[a] - count[a] * value[a]
                        n_ran += 1
                n_runs = 0
                for q in range(size):
                    i = members[low + q]
                    for r in range(first[i], first[i + 1]):
                        owner[n_runs] = <int32_t>q
                        runner[n_runs] = place[algorithm[r]]
                        cost[n_runs] = weight[r] * target[r]
                        heaviness[n_runs] = weight[r]
                        n_runs += 1
                node_runs.n_runs, node_runs.n_ran = n_runs, n_ran
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
                    in_left = 0
                    for q in range(size):
                        in_left += own[q] <= cut
                    if in_left >= min_leaf and size - in_left >= min_leaf:
                        gain = _gain(&node_runs, cut)
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
