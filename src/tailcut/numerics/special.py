"""Special functions of the normal distribution, for numbers and for arrays.

They are compiled (`normal_kernels.pyx`): importing scipy.special takes longer than importing the rest of
Tailcut.
"""

from tailcut.numerics.normal_kernels import erfcx, expit, log_ndtr, ndtr, ndtri_exp

__all__ = ["erfcx", "expit", "log_ndtr", "ndtr", "ndtri_exp"]
