# cython: language_level=3
"""Arrays of doubles in compiled code, as a pointer and a shape.

Most kernels take a microsecond or less, which is as long as it takes to set up a few typed memoryviews. What a
call needs is checked here as well: that an array holds doubles, one after the other. The pointer is valid for
as long as the caller holds the array.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)

cdef enum:
    READ = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT
    WRITE = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE


cdef struct Vector:
    double* at
    Py_ssize_t n


cdef struct Table:
    double* at
    Py_ssize_t rows
    Py_ssize_t columns


cdef inline double* _doubles(object array, int access, int dimensions, Py_ssize_t* shape) except? NULL:
    """Return where the entries of an array are, and write its shape; raise unless it is one of doubles."""
    cdef Py_buffer view
    cdef double* at
    cdef int i
    PyObject_GetBuffer(array, &view, access)
    cdef bint fine = view.ndim == dimensions and view.format[0] == c"d" and view.format[1] == 0
    if fine:
        at = <double*>view.buf
        for i in range(dimensions):
            shape[i] = view.shape[i]
    PyBuffer_Release(&view)
    if not fine:
        raise ValueError(f"expected an array of doubles in {dimensions} dimensions")
    return at


cdef inline Vector vector(object array, int access) except *:
    """Return a vector, to READ or to WRITE."""
    cdef Vector found
    found.at = _doubles(array, access, 1, &found.n)
    return found


cdef inline Vector vector_of(object array, Py_ssize_t n, int access) except *:
    """Return a vector of n entries."""
    cdef Vector found = vector(array, access)
    if found.n != n:
        raise ValueError(f"expected {n} entries, got {found.n}")
    return found


cdef inline Table table(object array, int access) except *:
    """Return a table, row after row."""
    cdef Table found
    cdef Py_ssize_t[2] shape
    found.at = _doubles(array, access, 2, shape)
    found.rows, found.columns = shape[0], shape[1]
    return found
