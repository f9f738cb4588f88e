# cython: language_level=3
"""Arrays in compiled code, as a pointer and a shape; of doubles if nothing else is said.

Most kernels take a microsecond or less, which is as long as it takes to set up a few typed memoryviews. What a
call needs is checked here as well: that an array holds such numbers, one after the other. The pointer is valid for
as long as the caller holds the array.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)

from libc.stdint cimport int32_t, int64_t
from libc.string cimport strchr

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


cdef inline void* _entries(
    object array, int access, int dimensions, const char* kinds, Py_ssize_t width, Py_ssize_t* shape
) except? NULL:
    """Return where the entries of an array are, and write its shape; raise unless they are of one of the kinds."""
    cdef Py_buffer view
    cdef void* at
    cdef int i
    PyObject_GetBuffer(array, &view, access)
    cdef bint fine = view.ndim == dimensions and view.itemsize == width
    fine = fine and view.format[1] == 0 and strchr(kinds, view.format[0]) != NULL
    if fine:
        at = view.buf
        for i in range(dimensions):
            shape[i] = view.shape[i]
    PyBuffer_Release(&view)
    if not fine:
        what = "doubles" if kinds[0] == c"d" else f"whole numbers of {8 * width} bits"
        raise ValueError(f"expected an array of {what} in {dimensions} dimensions")
    return at


cdef inline Vector vector(object array, int access) except *:
    """Return a vector, to READ or to WRITE."""
    cdef Vector found
    found.at = <double*>_entries(array, access, 1, "d", sizeof(double), &found.n)
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
    found.at = <double*>_entries(array, access, 2, "d", sizeof(double), shape)
    found.rows, found.columns = shape[0], shape[1]
    return found


cdef inline int32_t* small(object array, Py_ssize_t* n) except? NULL:
    """Return a vector of whole numbers of 32 bits, to be read, and write its length."""
    return <int32_t*>_entries(array, READ, 1, "il", sizeof(int32_t), n)


cdef inline int64_t* numbers(object array, Py_ssize_t* n) except? NULL:
    """Return a vector of whole numbers of 64 bits, to be read, and write its length."""
    return <int64_t*>_entries(array, READ, 1, "lq", sizeof(int64_t), n)
