"""What other kernels call of plan_kernels.pyx."""

cdef void likely_failures(
    const double[:, :, ::1] survival, const double[::1] cuts, const double[:] failed, double* likely
) noexcept nogil
