"""What other kernels call of plan_kernels.pyx."""

cdef struct Place:
    # Where a time lies: a curve there is a sum of its values at two cuts.
    Py_ssize_t cut  # the cut before
    double low, high  # factors of the survival at that cut and the next
    double low_area, high_area  # the same for what the integral gains after that cut

cdef Place place_of(const double* cuts, Py_ssize_t n_intervals, double time) noexcept nogil

cdef void likely_failures(
    const double[:, :, ::1] survival, const double[::1] cuts, const double[:] failed, double* likely
) noexcept nogil
