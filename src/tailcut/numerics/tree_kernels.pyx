# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: growing trees with shrinkage, and walking down many.

`tailcut.models.trees` says what is computed, and calls this. Arithmetic is in double precision, in a fixed
order, and randomness comes from the seed alone: the same bits on every run.

Growing reads features at random, which is what takes time; the rest is arranged to cost little beside it. The
runs of a node lie one behind the other, algorithm after algorithm, and both its children inherit that order. Splits
are judged eight at a time.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tailcut.numerics.buffers cimport READ, WRITE, Table, numbers, small, table, vector, vector_of

cdef extern from *:
    """
    #include <stdint.h>

    /* Where the C library can choose at load time, there is a second version for wider vectors: same bits. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define TAILCUT_WIDE __attribute__((target_clones("avx2", "default")))
    #else
    #define TAILCUT_WIDE
    #endif

    typedef struct {
        double cost;      /* what it cost, times its weight */
        double weight;    /* how many runs it counts for, more than 0 */
        int32_t owner;    /* its instance, numbered within the node */
        int32_t algorithm;
    } TailcutRun;

    typedef struct {
        const TailcutRun *first, *end; /* its runs in the node */
        double value;                  /* what the node holds of it, p_a */
        double error;                  /* the sum of (y - p_a) */
    } TailcutAlgorithm;

    /* Write n values to `own`, n a multiple of four, and the least and the greatest of them. There are four of
       each at first, because a comparison waits for the one before. */
    TAILCUT_WIDE
    static void tailcut_gather(
        const double *restrict values, const int64_t *restrict places, int64_t n,
        double *restrict own, double *restrict least, double *restrict greatest
    ) {
        const double first = values[places[0]];
        double low[4] = {first, first, first, first}, high[4] = {first, first, first, first};
        for (int64_t q = 0; q < n; q += 4)
            for (int lane = 0; lane < 4; lane++) {
                const double value = values[places[q + lane]];
                own[q + lane] = value;
                low[lane] = value < low[lane] ? value : low[lane];
                high[lane] = value > high[lane] ? value : high[lane];
            }
        for (int lane = 1; lane < 4; lane++) {
            low[0] = low[lane] < low[0] ? low[lane] : low[0];
            high[0] = high[lane] > high[0] ? high[lane] : high[0];
        }
        *least = low[0];
        *greatest = high[0];
    }

    /* Return how many of n values are at most `cut`, n a multiple of four; let `bit` say of each whether it is. */
    TAILCUT_WIDE
    static int64_t tailcut_mark(
        const double *restrict own, int64_t n, double cut, uint64_t bit, uint64_t *restrict sides
    ) {
        int64_t n_left[4] = {0, 0, 0, 0};
        for (int64_t q = 0; q < n; q += 4)
            for (int lane = 0; lane < 4; lane++) {
                const uint64_t left = own[q + lane] <= cut ? ~(uint64_t)0 : 0;
                sides[q + lane] = (sides[q + lane] & ~bit) | (left & bit);
                n_left[lane] -= (int64_t)left;
            }
        return (n_left[0] + n_left[1]) + (n_left[2] + n_left[3]);
    }

    /* What four bits say, as numbers to multiply with. */
    static const double TAILCUT_BITS[16][4] = {
        {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0},
        {0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0},
        {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1},
        {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1},
    };

    /* Write what each of eight splits gains; bit b of sides[q] says whether split b has instance q on the left.
       The sums of one split keep their order, so eight side by side have the same bits as one after another. */
    TAILCUT_WIDE
    static void tailcut_gains(
        const TailcutAlgorithm *ran, int64_t n_ran, double shrinkage, const uint64_t *sides, double *gains
    ) {
        double gain[8] = {0.0};
        for (int64_t p = 0; p < n_ran; p++) {
            double total[8] = {0.0}, count[8] = {0.0}, count_right[8] = {0.0};
            for (const TailcutRun *run = ran[p].first; run < ran[p].end; run++) {
                const uint64_t bits = sides[run->owner];
                const double cost = run->cost, weight = run->weight;
                double left[8];
                for (int b = 0; b < 4; b++) {
                    left[b] = TAILCUT_BITS[bits & 15][b];
                    left[b + 4] = TAILCUT_BITS[bits >> 4][b];
                }
                for (int b = 0; b < 8; b++) {
                    total[b] += left[b] * cost;
                    count[b] += left[b] * weight;
                    count_right[b] += (1.0 - left[b]) * weight;
                }
            }
            for (int b = 0; b < 8; b++) {
                const double e = total[b] - count[b] * ran[p].value, rest = ran[p].error - e;
                gain[b] += e * e * (1.0 / (count[b] + shrinkage));
                gain[b] += rest * rest * (1.0 / (count_right[b] + shrinkage));
            }
        }
        for (int b = 0; b < 8; b++)
            gains[b] = gain[b];
    }
    """
    ctypedef struct TailcutRun:
        double cost
        double weight
        int32_t owner
        int32_t algorithm

    ctypedef struct TailcutAlgorithm:
        const TailcutRun* first
        const TailcutRun* end
        double value
        double error

    void tailcut_gather(
        const double* values, const int64_t* places, int64_t n, double* own, double* least, double* greatest
    ) noexcept nogil
    int64_t tailcut_mark(
        const double* own, int64_t n, double cut, uint64_t bit, uint64_t* sides
    ) noexcept nogil
    void tailcut_gains(
        const TailcutAlgorithm* ran, int64_t n_ran, double shrinkage, const uint64_t* sides, double* gains
    ) noexcept nogil


cdef int64_t FEW = 256
"""Nodes of so many instances are small: they read rows of the table of features, larger ones columns."""


cdef enum:
    TOGETHER = 20  # trees that are walked down in step


cdef struct Task:
    # What trees are grown on, and how.
    const double* x  # features, row after row
    const double* columns  # the same, column after column
    const TailcutRun* runs  # of all instances, algorithm after algorithm
    const double* root  # what each algorithm costs on the whole
    int64_t n  # instances
    int64_t d  # features
    int64_t k  # algorithms
    int64_t n_runs
    int64_t candidates
    int64_t min_leaf
    int64_t max_depth
    double shrinkage


cdef struct Node:
    int64_t number  # in the tree
    int64_t depth
    int64_t low, high  # its instances are those members
    int64_t first, end  # its runs


cdef struct Split:
    double gain
    double threshold
    int64_t feature


cdef struct Workspace:
    # Of the tree that is growing: `members` and `runs` are put in order node by node.
    int32_t* members
    TailcutRun* runs
    int64_t* deck  # features, in the order in which they were drawn last
    Node* stack
    double* values  # (stack, K)
    uint64_t state  # of the random numbers
    # Of the node at hand.
    TailcutAlgorithm* ran  # those that ran, in the order of their numbers
    int64_t padded  # how many instances there are, up to a multiple of four
    int64_t* rows  # where the features of each are
    double* own  # values of one feature
    uint64_t* sides  # where each instance is in up to eight splits
    int32_t* places  # where each instance goes
    int32_t* right_members
    TailcutRun* right_runs


cdef struct Tree:
    # What was grown, in arrays that are large enough for any tree: each side of a split has its least instances.
    int64_t n_nodes, n_leaves
    int64_t nodes_before, leaves_before  # of the trees that were grown before
    int32_t* feature
    double* threshold
    int32_t* child
    double* leaves
    int32_t* spans


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


cdef void _enter(const Task* task, Workspace* work, const Node* node) noexcept nogil:
    """Note where the features of a node's members are, up to a multiple of four: the last one is repeated."""
    cdef int64_t size = node.high - node.low, q
    cdef const int32_t* members = work.members + node.low
    cdef int64_t stride = 1 if size > FEW else task.d
    work.padded = (size + 3) & ~3
    for q in range(size):
        work.rows[q] = members[q] * stride
    for q in range(size, work.padded):
        work.rows[q] = work.rows[size - 1]


cdef inline void _read(
    const Task* task, Workspace* work, const Node* node, int64_t feature, double* least, double* greatest
) noexcept nogil:
    """Write the values of a feature in the node at hand to `own`, and the least and the greatest of them."""
    cdef bint few = node.high - node.low <= FEW
    cdef const double* values = task.x + feature if few else task.columns + feature * task.n
    tailcut_gather(values, work.rows, work.padded, work.own, least, greatest)


cdef inline int64_t _mark(Workspace* work, int64_t size, double cut, uint64_t bit) noexcept nogil:
    """Return how many of the values in `own` are at most `cut`; let a bit of `sides` say of each whether it is."""
    cdef int64_t repeated = work.padded - size
    return tailcut_mark(work.own, work.padded, cut, bit, work.sides) - repeated * (work.own[size - 1] <= cut)


cdef int64_t _settle(const Task* task, Workspace* work, const Node* node, double* value) noexcept nogil:
    """Move the values of a node by its runs; write which algorithms ran in it, and return how many."""
    cdef const TailcutRun* run = work.runs + node.first
    cdef const TailcutRun* end = work.runs + node.end
    cdef TailcutAlgorithm* own = work.ran
    cdef int32_t a
    cdef double total, count
    while run < end:
        a = run.algorithm
        own.first = run
        total = 0.0
        count = 0.0
        while run < end and run.algorithm == a:
            total += run.cost
            count += run.weight
            run += 1
        own.end = run
        value[a] += (total - count * value[a]) / (count + task.shrinkage)
        own.value = value[a]
        own.error = total - count * value[a]
        own += 1
    return own - work.ran


cdef void _keep_best(
    const Task* task, const Workspace* work, int64_t n_ran, const Split* splits, int64_t n, Split* best
) noexcept nogil:
    """Let `best` be the first of up to eight splits that gains most, if that is more than `best` does."""
    cdef double[8] gains
    cdef int64_t b
    if n == 0:
        return
    tailcut_gains(work.ran, n_ran, task.shrinkage, work.sides, gains)
    for b in range(n):
        if gains[b] > best.gain:
            best[0] = splits[b]
            best.gain = gains[b]


cdef Split _best_split(const Task* task, Workspace* work, const Node* node, int64_t n_ran) noexcept nogil:
    """Return the best of the splits that a node considers; its feature is -1 if none gains anything."""
    cdef Split best
    cdef Split[8] splits
    cdef int64_t size = node.high - node.low, tried = 0, n_splits = 0, c, i, f, in_left
    cdef double least, greatest, cut
    best.gain, best.threshold, best.feature = 1e-12, 0.0, -1
    for c in range(task.d):
        # Features are drawn without replacement; those that are the same everywhere do not count.
        i = c + _below(&work.state, task.d - c)
        f = work.deck[i]
        work.deck[i] = work.deck[c]
        work.deck[c] = f
        _read(task, work, node, f, &least, &greatest)
        if greatest <= least:
            continue
        tried += 1
        cut = least + (greatest - least) * _uniform(&work.state)
        in_left = _mark(work, size, cut, <uint64_t>1 << n_splits)
        if in_left >= task.min_leaf and size - in_left >= task.min_leaf:
            splits[n_splits].feature, splits[n_splits].threshold = f, cut
            n_splits += 1
            if n_splits == 8:
                _keep_best(task, work, n_ran, splits, n_splits, &best)
                n_splits = 0
        # A node of few instances has few splits: to try more than it has instances finds no others.
        if tried >= task.candidates or tried >= size:
            break
    _keep_best(task, work, n_ran, splits, n_splits, &best)
    return best


cdef int64_t _part_members(Workspace* work, const Node* node, double threshold) noexcept nogil:
    """Put the members on the left first, else in their order; return how many. `own` has their values.

    Where each goes is in `places`, on the right as -1 and less.
    """
    cdef int32_t* members = work.members + node.low
    cdef int64_t q
    cdef int32_t n_left = 0, n_right = 0
    for q in range(node.high - node.low):
        if work.own[q] <= threshold:
            work.places[q] = n_left
            members[n_left] = members[q]
            n_left += 1
        else:
            work.places[q] = -1 - n_right
            work.right_members[n_right] = members[q]
            n_right += 1
    memcpy(members + n_left, work.right_members, n_right * sizeof(int32_t))
    return n_left


cdef int64_t _part_runs(Workspace* work, const Node* node) noexcept nogil:
    """Put the runs on the left first, else in their order; return how many."""
    cdef TailcutRun* left = work.runs + node.first
    cdef TailcutRun* right = work.right_runs
    cdef TailcutRun run
    cdef int64_t r, n_left
    for r in range(node.first, node.end):
        run = work.runs[r]
        run.owner = work.places[run.owner]
        if run.owner >= 0:
            left[0] = run
            left += 1
        else:
            run.owner = -1 - run.owner
            right[0] = run
            right += 1
    n_left = left - (work.runs + node.first)
    memcpy(left, work.right_runs, (right - work.right_runs) * sizeof(TailcutRun))
    return n_left


cdef void _end(const Task* task, Tree* tree, const Node* node, const double* value) noexcept nogil:
    """Let a node be a leaf."""
    tree.feature[node.number] = -1
    tree.threshold[node.number] = 0.0
    tree.child[node.number] = <int32_t>(tree.leaves_before + tree.n_leaves)
    memcpy(tree.leaves + tree.n_leaves * task.k, value, task.k * sizeof(double))
    tree.n_leaves += 1


cdef void _part(
    const Task* task, Workspace* work, Tree* tree, const Node* node, const Split* split, Node* children
) noexcept nogil:
    """Split a node into two `children`, the right one first."""
    cdef double least, greatest
    _read(task, work, node, split.feature, &least, &greatest)
    cdef int64_t middle = node.low + _part_members(work, node, split.threshold)
    cdef int64_t between = node.first + _part_runs(work, node)
    tree.feature[node.number] = <int32_t>split.feature
    tree.threshold[node.number] = split.threshold
    tree.child[node.number] = <int32_t>(tree.nodes_before + tree.n_nodes)
    children[0] = Node(tree.n_nodes + 1, node.depth + 1, middle, node.high, between, node.end)
    children[1] = Node(tree.n_nodes, node.depth + 1, node.low, middle, node.first, between)
    tree.n_nodes += 2


cdef void _begin(const Task* task, Workspace* work, Tree* tree, uint64_t seed) noexcept nogil:
    """Put all instances into the root."""
    cdef int64_t i
    for i in range(task.n):
        work.members[i] = <int32_t>i
    for i in range(task.d):
        work.deck[i] = i
    memcpy(work.runs, task.runs, task.n_runs * sizeof(TailcutRun))
    memcpy(work.values, task.root, task.k * sizeof(double))
    work.stack[0] = Node(0, 0, 0, task.n, 0, task.n_runs)
    work.state = seed
    tree.n_nodes, tree.n_leaves = 1, 0


cdef void _grow(const Task* task, Workspace* work, Tree* tree, uint64_t seed) noexcept nogil:
    """Grow one tree, depth first."""
    cdef Node node
    cdef Split split
    cdef double* value
    cdef int64_t top = 1, n_ran
    _begin(task, work, tree, seed)
    while top > 0:
        top -= 1
        node = work.stack[top]
        value = work.values + top * task.k
        tree.spans[2 * node.number] = <int32_t>node.low
        tree.spans[2 * node.number + 1] = <int32_t>node.high
        n_ran = _settle(task, work, &node, value)
        split.feature = -1
        if node.high - node.low >= 2 * task.min_leaf and node.depth < task.max_depth:
            _enter(task, work, &node)
            split = _best_split(task, work, &node, n_ran)
        if split.feature < 0:
            _end(task, tree, &node, value)
            continue
        _part(task, work, tree, &node, &split, work.stack + top)
        memcpy(value + task.k, value, task.k * sizeof(double))
        top += 2


RUN = np.dtype([("cost", "f8"), ("weight", "f8"), ("owner", "i4"), ("algorithm", "i4")])
"""A run: what it cost times its weight, its weight, its instance and its algorithm."""


def grow_trees(
    const double[:, ::1] x,
    const double[:, ::1] columns,
    const TailcutRun[::1] runs,
    const double[::1] root,
    int64_t candidates,
    int64_t min_leaf,
    int64_t max_depth,
    double shrinkage,
    seeds,
):
    """Return one tree per seed, all in the same arrays, one behind the other.

    These are the first node and the first leaf of each tree, shape (T,); feature, threshold, child (M,) of the
    nodes; the values (L, K) of the leaves; the spans (M, 2) of the nodes, and the members (T, n) of the trees.

    `x` has the features, shape (n, d), and `columns` the same, shape (d, n): a large node reads a feature of
    all its instances, a small one all features of its instances. Runs are sorted by algorithm, then by
    instance, and count by their weights, which are more than 0. A leaf has feature -1 and its row of the values as
    child; other nodes have two children, `child` for values up to the threshold and the one behind it. The
    instances of a node are those members of its tree that its span says.
    """
    cdef int64_t n = x.shape[0], d = x.shape[1], k = root.shape[0], n_runs = runs.shape[0]
    cdef int64_t n_trees = len(seeds), deepest = max_depth + 3, t
    cdef int64_t leaves_most = n_trees * max(n // max(min_leaf, 1), 1), most = 2 * leaves_most
    first_nodes_, first_leaves_ = np.empty(n_trees, dtype=np.int64), np.empty(n_trees, dtype=np.int64)
    feature_, child_, threshold_ = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32), np.empty(most)
    leaves_, spans_ = np.empty((leaves_most, k)), np.empty((most, 2), dtype=np.int32)
    members_ = np.empty((n_trees, n), dtype=np.int32)
    cdef int64_t[::1] first_nodes = first_nodes_, first_leaves = first_leaves_
    cdef int32_t[::1] feature = feature_, child = child_
    cdef int32_t[:, ::1] spans = spans_, members = members_
    cdef double[::1] threshold = threshold_
    cdef double[:, ::1] leaves = leaves_
    cdef int32_t[::1] places = np.empty(n, dtype=np.int32), right_members = np.empty(n, dtype=np.int32)
    cdef int64_t[::1] deck = np.empty(d, dtype=np.int64), rows = np.empty(n + 3, dtype=np.int64)
    cdef double[::1] own = np.empty(n + 3)
    cdef double[:, ::1] values = np.empty((deepest, k))
    cdef TailcutRun[::1] own_runs = np.empty(n_runs, dtype=RUN), right_runs = np.empty(n_runs, dtype=RUN)
    cdef uint64_t[::1] sides = np.zeros(n + 3, dtype=np.uint64)
    cdef Task task = Task(
        &x[0, 0], &columns[0, 0], &runs[0], &root[0], n, d, k, n_runs, candidates, min_leaf, max_depth, shrinkage
    )
    cdef Workspace work
    work.places, work.right_members = &places[0], &right_members[0]
    work.runs, work.right_runs = &own_runs[0], &right_runs[0]
    work.deck, work.values, work.own, work.sides = &deck[0], &values[0, 0], &own[0], &sides[0]
    work.rows = &rows[0]
    work.stack = <Node*>malloc(deepest * sizeof(Node))
    work.ran = <TailcutAlgorithm*>malloc(k * sizeof(TailcutAlgorithm))
    cdef Tree tree
    tree.nodes_before, tree.leaves_before = 0, 0
    cdef uint64_t seed
    try:
        if work.stack == NULL or work.ran == NULL:
            raise MemoryError
        for t in range(n_trees):
            seed = seeds[t]
            first_nodes[t], first_leaves[t] = tree.nodes_before, tree.leaves_before
            tree.feature, tree.threshold = &feature[tree.nodes_before], &threshold[tree.nodes_before]
            tree.child, tree.spans = &child[tree.nodes_before], &spans[tree.nodes_before, 0]
            tree.leaves = &leaves[tree.leaves_before, 0]
            work.members = &members[t, 0]
            with nogil:
                _grow(&task, &work, &tree, seed)
            tree.nodes_before += tree.n_nodes
            tree.leaves_before += tree.n_leaves
    finally:
        free(work.stack)
        free(work.ran)
    of_nodes = (part[: tree.nodes_before].copy() for part in (feature_, threshold_, child_, spans_))
    feature_, threshold_, child_, spans_ = of_nodes
    leaves_ = leaves_[: tree.leaves_before].copy()
    return first_nodes_, first_leaves_, feature_, threshold_, child_, leaves_, spans_, members_


cdef void _walk(
    const int32_t* feature, const double* threshold, const int32_t* child, const double* x, int64_t* at, int64_t n
) noexcept nogil:
    """Let `x` walk from n nodes to the leaves, in step: while one tree waits for memory, the others go on."""
    cdef int64_t t
    cdef int32_t f
    cdef bint moving = True
    while moving:
        moving = False
        for t in range(n):
            f = feature[at[t]]
            if f >= 0:
                at[t] = child[at[t]] + (x[f] > threshold[at[t]])
                moving = True


def reach(
    const int64_t[::1] roots,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] child,
    const double[::1] x,
):
    """Return the row of the leaf that `x` falls into, for each of the trees that start at `roots`, (T,)."""
    rows_ = np.array(roots)
    cdef int64_t[::1] rows = rows_
    cdef int64_t t
    _walk(&feature[0], &threshold[0], &child[0], &x[0], &rows[0], rows.shape[0])
    for t in range(rows.shape[0]):
        rows[t] = child[rows[t]]
    return rows_


def mean_leaf(roots_, feature_, threshold_, child_, loss_, x_):
    """Return the mean over the trees of the losses of the leaf that `x` falls into, shape (K,)."""
    cdef Py_ssize_t n_trees, n_nodes, n_children
    cdef const int64_t* roots = numbers(roots_, &n_trees)
    cdef const int32_t* feature = small(feature_, &n_nodes)
    cdef const int32_t* child = small(child_, &n_children)
    cdef const double* threshold = vector_of(threshold_, n_nodes, READ).at
    cdef const double* x = vector(x_, READ).at
    cdef Table loss = table(loss_, READ)
    found = np.zeros(loss.columns)
    cdef double* out = vector(found, WRITE).at
    cdef int64_t[TOGETHER] at
    cdef int64_t t, several, n, a
    cdef const double* leaf
    for several in range(0, n_trees, TOGETHER):
        n = min(n_trees - several, <int64_t>TOGETHER)
        memcpy(at, roots + several, n * sizeof(int64_t))
        _walk(feature, threshold, child, x, at, n)
        for t in range(n):
            leaf = loss.at + child[at[t]] * loss.columns
            for a in range(loss.columns):
                out[a] += leaf[a]
    for a in range(loss.columns):
        out[a] /= n_trees
    return found
