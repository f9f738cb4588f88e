# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: products with symmetric matrices of which the lower half is kept, row after row.

Row i of a matrix of d rows starts at i (i + 1) / 2 and has i + 1 entries. Reading half of a matrix takes half
the time: these products are as fast as memory is. Sums are taken in eight parts that are then added in a
fixed order, so that a compiler can use vector instructions without changing a bit, whatever their width.
`tailcut.models.ridge` says what is computed, and calls this.
"""

import numpy as np

from libc.stdlib cimport free, malloc

from tailcut.numerics.buffers cimport READ, WRITE, Table, Vector, table, vector, vector_of

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdlib.h>

    /* Where the C library can choose at load time, there is a second version for wider vectors: same bits. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define TAILCUT_WIDE __attribute__((target_clones("avx2", "default")))
    #else
    #define TAILCUT_WIDE
    #endif

    #define TAILCUT_SUM(p) (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])))

    typedef double TailcutFour __attribute__((vector_size(32), aligned(8)));

    /* Return x'Ax: twice what lies below the diagonal, and the diagonal. Four rows are read side by side, which have
       as many times eight entries before the diagonal; where fewer are left, the first one is read again. */
    TAILCUT_WIDE
    static double tailcut_quadratic(const double *half, const double *x, ptrdiff_t d) {
        double below = 0.0, diagonal = 0.0;
        for (ptrdiff_t i = 0; i < d; i += 4) {
            const ptrdiff_t n = d - i < 4 ? d - i : 4, eights = i & ~(ptrdiff_t)7;
            const double *row[4] = {
                half, half + (n > 1 ? i + 1 : 0), half + (n > 2 ? 2 * i + 3 : 0), half + (n > 3 ? 3 * i + 6 : 0)
            };
            TailcutFour part[4][2] = {{{0.0}}};
            double sum[4];
            for (ptrdiff_t j = 0; j < eights; j += 8)
                for (int r = 0; r < 4; r++) {
                    part[r][0] += *(const TailcutFour *)(row[r] + j) * *(const TailcutFour *)(x + j);
                    part[r][1] += *(const TailcutFour *)(row[r] + j + 4) * *(const TailcutFour *)(x + j + 4);
                }
            for (int r = 0; r < 4; r++) {
                const TailcutFour both = part[r][0] + part[r][1];
                sum[r] = (both[0] + both[2]) + (both[1] + both[3]);
            }
            for (ptrdiff_t r = 0; r < n; r++) {
                for (ptrdiff_t j = eights; j < i + r; j++)
                    sum[r] += row[r][j] * x[j];
                below += sum[r] * x[i + r];
                diagonal += row[r][i + r] * x[i + r] * x[i + r];
            }
            half += 4 * i + 10;
        }
        return 2.0 * below + diagonal;
    }

    /* Write Ax to u. */
    TAILCUT_WIDE
    static void tailcut_product(const double *half, const double *x, double *restrict u, ptrdiff_t d) {
        for (ptrdiff_t i = 0; i < d; i++) {
            double part[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            const double own = x[i];
            ptrdiff_t j = 0;
            for (; j + 8 <= i; j += 8)
                for (int lane = 0; lane < 8; lane++) {
                    part[lane] += half[j + lane] * x[j + lane];
                    u[j + lane] += half[j + lane] * own;
                }
            double sum = TAILCUT_SUM(part);
            for (; j < i; j++) {
                sum += half[j] * x[j];
                u[j] += half[j] * own;
            }
            u[i] = sum + half[i] * own;
            half += i + 1;
        }
    }

    /* Add gain u u' to A. */
    TAILCUT_WIDE
    static void tailcut_add_square(double *restrict half, const double *restrict u, double gain, ptrdiff_t d) {
        for (ptrdiff_t i = 0; i < d; i++) {
            const double own = gain * u[i];
            for (ptrdiff_t j = 0; j <= i; j++)
                half[j] += own * u[j];
            half += i + 1;
        }
    }

    TAILCUT_WIDE
    static double tailcut_dot(const double *a, const double *b, ptrdiff_t n) {
        double part[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        ptrdiff_t j = 0;
        for (; j + 8 <= n; j += 8)
            for (int lane = 0; lane < 8; lane++)
                part[lane] += a[j + lane] * b[j + lane];
        double sum = TAILCUT_SUM(part);
        for (; j < n; j++)
            sum += a[j] * b[j];
        return sum;
    }

    TAILCUT_WIDE
    static void tailcut_add(double *restrict a, const double *restrict b, double factor, ptrdiff_t n) {
        for (ptrdiff_t j = 0; j < n; j++)
            a[j] += factor * b[j];
    }
    """
    double tailcut_quadratic(const double* half, const double* x, Py_ssize_t d) noexcept nogil
    void tailcut_product(const double* half, const double* x, double* u, Py_ssize_t d) noexcept nogil
    void tailcut_add_square(double* half, const double* u, double gain, Py_ssize_t d) noexcept nogil
    double tailcut_dot(const double* a, const double* b, Py_ssize_t n) noexcept nogil
    void tailcut_add(double* a, const double* b, double factor, Py_ssize_t n) noexcept nogil


cdef int _check(Table theta, Py_ssize_t algorithm) except -1:
    """Raise unless there is such an algorithm."""
    if not 0 <= algorithm < theta.rows:
        raise ValueError(f"expected one of {theta.rows} algorithms, got {algorithm}")
    return 0


cdef Table _halves(object halves_, Table theta, int access) except *:
    """Return the lower halves of as many matrices as there are rows of theta."""
    cdef Table halves = table(halves_, access)
    if halves.rows != theta.rows or halves.columns != theta.columns * (theta.columns + 1) // 2:
        raise ValueError(f"expected {theta.rows} matrices of {theta.columns} rows")
    return halves


def predict(halves_, theta_, x_):
    """Return x'theta and x'A^-1 x for all K posteriors, each of shape (K,)."""
    cdef Table theta = table(theta_, READ), halves = _halves(halves_, theta, READ)
    cdef Vector x = vector_of(x_, theta.columns, READ)
    mean_, variance_ = np.empty(theta.rows), np.empty(theta.rows)
    cdef double* mean = vector(mean_, WRITE).at
    cdef double* variance = vector(variance_, WRITE).at
    cdef Py_ssize_t a
    for a in range(theta.rows):
        mean[a] = tailcut_dot(theta.at + a * theta.columns, x.at, x.n)
        variance[a] = _at_least_0(tailcut_quadratic(halves.at + a * halves.columns, x.at, x.n))
    return mean_, variance_


cdef inline double _at_least_0(double value) noexcept nogil:
    return value if value > 0.0 else 0.0


def mean(theta_, x_):
    """Return x'theta for all K posteriors, shape (K,)."""
    cdef Table theta = table(theta_, READ)
    cdef Vector x = vector_of(x_, theta.columns, READ)
    found = np.empty(theta.rows)
    cdef double* out = vector(found, WRITE).at
    cdef Py_ssize_t a
    for a in range(theta.rows):
        out[a] = tailcut_dot(theta.at + a * theta.columns, x.at, x.n)
    return found


def solve(halves_, theta_, Py_ssize_t algorithm, x_):
    """Return u = A^-1 x, shape (d,), x'theta and x'u, at least 0, of one posterior."""
    cdef Table theta = table(theta_, READ), halves = _halves(halves_, theta, READ)
    cdef Vector x = vector_of(x_, theta.columns, READ)
    _check(theta, algorithm)
    found = np.empty(x.n)
    cdef double* u = vector(found, WRITE).at
    tailcut_product(halves.at + algorithm * halves.columns, x.at, u, x.n)
    cdef double mean = tailcut_dot(theta.at + algorithm * x.n, x.at, x.n)
    return found, mean, _at_least_0(tailcut_dot(u, x.at, x.n))


def absorb(halves_, theta_, Py_ssize_t algorithm, u_, double gain, double step):
    """Let A^-1 fall by gain u u' and theta rise by step u, of one posterior."""
    cdef Table theta = table(theta_, WRITE), halves = _halves(halves_, theta, WRITE)
    cdef Vector u = vector_of(u_, theta.columns, READ)
    _check(theta, algorithm)
    tailcut_add_square(halves.at + algorithm * halves.columns, u.at, -gain, u.n)
    tailcut_add(theta.at + algorithm * u.n, u.at, step, u.n)


def update(halves_, theta_, Py_ssize_t algorithm, x_, double target, double weight):
    """Learn (x, target) in one posterior, weighing `weight` observations: `solve` and `absorb` in one."""
    cdef Table theta = table(theta_, WRITE), halves = _halves(halves_, theta, WRITE)
    cdef Vector x = vector_of(x_, theta.columns, READ)
    _check(theta, algorithm)
    cdef double* half = halves.at + algorithm * halves.columns
    cdef double* weights = theta.at + algorithm * x.n
    cdef double* u = <double*>malloc((x.n + 1) * sizeof(double))
    cdef double gain, step
    if not u:
        raise MemoryError
    tailcut_product(half, x.at, u, x.n)
    gain = weight / (1.0 + weight * _at_least_0(tailcut_dot(u, x.at, x.n)))
    step = gain * (target - tailcut_dot(weights, x.at, x.n))
    tailcut_add_square(half, u, -gain, x.n)
    tailcut_add(weights, u, step, x.n)
    free(u)
