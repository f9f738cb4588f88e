# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: growing one tree with shrinkage, and walking down many.

`tailcut.models.growing` says what is computed, and calls this. Arithmetic is in double precision, in a fixed
order, and randomness comes from the seed alone: the same bits on every run.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t


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


def grow_tree(
    const double[:, ::1] columns,
    const int64_t[::1] first,
    const int64_t[::1] algorithm,
    const double[::1] target,
    const double[::1] root,
    int64_t candidates,
    int64_t min_leaf,
    int64_t max_depth,
    double shrinkage,
    uint64_t seed,
):
    """Return feature, threshold, child (M,) of the nodes of one tree and the values of its leaves (L, K).

    `columns` has the features, one row each, shape (d, n). The runs of instance i are those from first[i] up
    to first[i + 1]. A leaf has feature -1 and its row of the values as child; other nodes have two children,
    `child` for values up to the threshold and the one behind it.
    """
    cdef int64_t d = columns.shape[0], n = first.shape[0] - 1, k = root.shape[0]
    cdef int64_t most = 2 * n + 1, deepest = max_depth + 2
    feature_ = np.empty(most, dtype=np.int32)
    threshold_ = np.empty(most)
    child_ = np.empty(most, dtype=np.int32)
    leaves_ = np.empty((n + 1, k))
    values_ = np.empty((deepest + 1, k))  # of the nodes on the stack
    cdef int32_t[::1] feature = feature_
    cdef double[::1] threshold = threshold_
    cdef int32_t[::1] child = child_
    cdef double[:, ::1] leaves = leaves_
    cdef double[:, ::1] values = values_
    cdef int64_t[::1] stack_node = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_low = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_high = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] stack_depth = np.empty(deepest + 1, dtype=np.int64)
    cdef int64_t[::1] members = np.arange(n, dtype=np.int64)
    cdef int64_t[::1] right = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] deck = np.arange(d, dtype=np.int64)
    cdef double[::1] value = np.empty(k)
    cdef double[::1] total = np.empty(k)
    cdef double[::1] count = np.empty(k)
    cdef double[::1] left_total = np.empty(k)
    cdef double[::1] left_count = np.empty(k)
    cdef int64_t nodes = 1, n_leaves = 0, top = 1, node, low, high, depth, size, a, q, i, r, c, f, tried
    cdef int64_t in_left, in_right, best_feature, middle
    cdef double best, best_threshold, least, greatest, v, cut, gain, e, rest
    cdef uint64_t state = seed
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
            for a in range(k):
                value[a] = values[top, a]
                total[a] = 0.0
                count[a] = 0.0
            for q in range(low, high):
                i = members[q]
                for r in range(first[i], first[i + 1]):
                    total[algorithm[r]] += target[r]
                    count[algorithm[r]] += 1.0
            for a in range(k):
                if count[a] > 0.0:
                    value[a] += (total[a] - count[a] * value[a]) / (count[a] + shrinkage)
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
                    least = columns[f, members[low]]
                    greatest = least
                    for q in range(low + 1, high):
                        v = columns[f, members[q]]
                        if v < least:
                            least = v
                        elif v > greatest:
                            greatest = v
                    if greatest <= least:
                        continue
                    tried += 1
                    cut = least + (greatest - least) * _uniform(&state)
                    in_left = 0
                    for a in range(k):
                        left_total[a] = 0.0
                        left_count[a] = 0.0
                    for q in range(low, high):
                        i = members[q]
                        if columns[f, i] <= cut:
                            in_left += 1
                            for r in range(first[i], first[i + 1]):
                                left_total[algorithm[r]] += target[r]
                                left_count[algorithm[r]] += 1.0
                    if in_left >= min_leaf and size - in_left >= min_leaf:
                        gain = 0.0
                        for a in range(k):
                            if count[a] > 0.0:
                                e = left_total[a] - left_count[a] * value[a]
                                rest = total[a] - count[a] * value[a] - e
                                gain += e * e / (left_count[a] + shrinkage)
                                gain += rest * rest / (count[a] - left_count[a] + shrinkage)
                        if gain > best:
                            best = gain
                            best_feature = f
                            best_threshold = cut
                    if tried >= candidates:
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
                    members[middle] = i
                    middle += 1
                else:
                    right[in_right] = i
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
    return feature_[:nodes].copy(), threshold_[:nodes].copy(), child_[:nodes].copy(), leaves_[:n_leaves].copy()


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
