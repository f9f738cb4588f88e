# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: products with symmetric matrices of which the lower half is kept, row after row.

Row i of a matrix of d rows starts at i (i + 1) / 2 and has i + 1 entries. Reading half of a matrix takes half
the time: these products are as fast as memory is. Sums are taken in eight parts that are then added in a
fixed order, so that a compiler can use vector instructions without changing a bit, whatever their width.
`tailcut.models.ridge` says what is computed, and calls this.
"""

import numpy as np

from libc.stdlib cimport free, malloc

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

    /* Return x'Ax: twice what lies below the diagonal, and the diagonal. */
    TAILCUT_WIDE
    static double tailcut_quadratic(const double *half, const double *x, ptrdiff_t d) {
        double below = 0.0, diagonal = 0.0;
        for (ptrdiff_t i = 0; i < d; i++) {
            double part[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            ptrdiff_t j = 0;
            for (; j + 8 <= i; j += 8)
                for (int lane = 0; lane < 8; lane++)
                    part[lane] += half[j + lane] * x[j + lane];
            double sum = TAILCUT_SUM(part);
            for (; j < i; j++)
                sum += half[j] * x[j];
            below += sum * x[i];
            diagonal += half[i] * x[i] * x[i];
            half += i + 1;
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


cdef int _check(const double[:, ::1] theta, Py_ssize_t algorithm, Py_ssize_t width) except -1:
    """Raise unless there is such an algorithm, and a vector is as wide as theta: nothing below looks."""
    if width != theta.shape[1] or not 0 <= algorithm < theta.shape[0]:
        raise ValueError(f"expected {theta.shape[1]} entries and one of {theta.shape[0]} algorithms")
    return 0


def predict(const double[:, ::1] halves, const double[:, ::1] theta, const double[::1] x):
    """Return x'theta and x'A^-1 x for all K posteriors, each of shape (K,)."""
    cdef Py_ssize_t n_algorithms = theta.shape[0], d = theta.shape[1], a
    _check(theta, 0, x.shape[0])
    found = np.zeros((2, n_algorithms))
    cdef double[:, ::1] out = found
    cdef double variance
    if d:
        for a in range(n_algorithms):
            out[0, a] = tailcut_dot(&theta[a, 0], &x[0], d)
            variance = tailcut_quadratic(&halves[a, 0], &x[0], d)
            out[1, a] = variance if variance > 0.0 else 0.0
    return found[0], found[1]


def mean(const double[:, ::1] theta, const double[::1] x):
    """Return x'theta for all K posteriors, shape (K,)."""
    cdef Py_ssize_t d = theta.shape[1], a
    _check(theta, 0, x.shape[0])
    found = np.zeros(theta.shape[0])
    cdef double[::1] out = found
    if d:
        for a in range(theta.shape[0]):
            out[a] = tailcut_dot(&theta[a, 0], &x[0], d)
    return found


def solve(const double[:, ::1] halves, const double[:, ::1] theta, Py_ssize_t algorithm, const double[::1] x):
    """Return u = A^-1 x, shape (d,), x'theta and x'u, at least 0, of one posterior."""
    cdef Py_ssize_t d = theta.shape[1]
    _check(theta, algorithm, x.shape[0])
    found = np.empty(d)
    cdef double[::1] u = found
    cdef double mean = 0.0, variance = 0.0
    if d:
        tailcut_product(&halves[algorithm, 0], &x[0], &u[0], d)
        mean = tailcut_dot(&theta[algorithm, 0], &x[0], d)
        variance = tailcut_dot(&u[0], &x[0], d)
    return found, mean, variance if variance > 0.0 else 0.0


cdef void _absorb(
    double[:, ::1] halves, double[:, ::1] theta, Py_ssize_t algorithm, const double* u, double gain, double step
) noexcept nogil:
    tailcut_add_square(&halves[algorithm, 0], u, -gain, theta.shape[1])
    tailcut_add(&theta[algorithm, 0], u, step, theta.shape[1])


def absorb(
    double[:, ::1] halves,
    double[:, ::1] theta,
    Py_ssize_t algorithm,
    const double[::1] u,
    double gain,
    double step,
):
    """Let A^-1 fall by gain u u' and theta rise by step u, of one posterior."""
    cdef Py_ssize_t d = theta.shape[1]
    _check(theta, algorithm, u.shape[0])
    if d:
        _absorb(halves, theta, algorithm, &u[0], gain, step)


def update(
    double[:, ::1] halves,
    double[:, ::1] theta,
    Py_ssize_t algorithm,
    const double[::1] x,
    double target,
    double weight,
):
    """Learn (x, target) in one posterior, weighing `weight` observations: `solve` and `absorb` in one."""
    cdef Py_ssize_t d = theta.shape[1]
    cdef double gain, variance
    _check(theta, algorithm, x.shape[0])
    if not d:
        return
    cdef double* u = <double*>malloc(d * sizeof(double))
    if not u:
        raise MemoryError
    tailcut_product(&halves[algorithm, 0], &x[0], u, d)
    variance = tailcut_dot(u, &x[0], d)
    gain = weight / (1.0 + weight * (variance if variance > 0.0 else 0.0))
    _absorb(halves, theta, algorithm, u, gain, gain * (target - tailcut_dot(&theta[algorithm, 0], &x[0], d)))
    free(u)
