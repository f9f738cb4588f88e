# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled: the posterior of each algorithm's mean loss, and what is learned of all of them together.

`tailcut.models.residual_layers` says what is computed, and calls this.
"""

import numpy as np

from tailcut.numerics.buffers cimport READ, WRITE, Vector, vector, vector_of


def posterior(runs_, total_, double middle, double spread, double noise):
    """Return mean and variance of theta_a, given m = `middle`, tau^2 = `spread` and s^2 = `noise`; (K,)."""
    cdef Vector runs = vector(runs_, READ), total = vector_of(total_, runs.n, READ)
    mean_, variance_ = np.empty(runs.n), np.empty(runs.n)
    cdef double* mean = vector(mean_, WRITE).at
    cdef double* variance = vector(variance_, WRITE).at
    cdef Py_ssize_t a
    for a in range(runs.n):
        variance[a] = 1.0 / (1.0 / spread + runs.at[a] / noise)
        mean[a] = variance[a] * (middle / spread + total.at[a] / noise)
    return mean_, variance_


def population(
    const double[::1] runs,
    const double[::1] total,
    double noise,
    double middle,
    double middle_weight,
    double spread,
    double spread_weight,
    int steps,
):
    """Return m and tau^2 after some steps of expectation maximisation from where they start."""
    cdef double first_middle = middle, first_spread = spread
    cdef double weight, sum_precision, sum_mean, precision, variance, mean, scatter, n_tried
    cdef Py_ssize_t a
    cdef int step
    for step in range(steps):
        weight = middle_weight / spread
        sum_precision = 0.0
        sum_mean = 0.0
        n_tried = 0.0
        for a in range(runs.shape[0]):
            if runs[a] > 0.0:
                precision = 1.0 / (spread + noise / runs[a])  # of its mean loss as a measurement of m
                sum_precision += precision
                sum_mean += precision * (total[a] / runs[a])
                n_tried += 1.0
        middle = (weight * first_middle + sum_mean) / (weight + sum_precision)
        scatter = 0.0
        for a in range(runs.shape[0]):
            if runs[a] > 0.0:
                variance = 1.0 / (1.0 / spread + runs[a] / noise)
                mean = variance * (middle / spread + total[a] / noise)
                scatter += (mean - middle) * (mean - middle) + variance
        spread = (spread_weight * first_spread + scatter) / (spread_weight + n_tried)
    return middle, spread
