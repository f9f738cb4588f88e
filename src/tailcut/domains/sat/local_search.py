"""The solver ``local_search``: our own local search in C (``local_search.c``) for satisfiable formulas.

It cannot prove that there is no model; on an unsatisfiable formula it searches until it is stopped.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from tailcut.domains.sat.compiled import library
from tailcut.domains.sat.formula import Formula, Literals, tidy

FLIPS_AT_ONCE = 1_000_000
"""Flips between two looks at signals: a fraction of a second, so that Ctrl-C works."""


def search(formula: Formula, *, seed: int = 1, flips: int | None = None) -> Literals | None:
    """Return a model as literals, shape (n_variables,), or None after so many flips; None: never stop.

    >>> search(Formula.of([[1, 2], [-1], [3, -2]])).tolist()
    [-1, 2, 3]
    """
    clean = tidy(formula)
    if (clean.lengths == 0).any():
        raise ValueError("an empty clause cannot be satisfied")
    code = load()
    literals, offsets = np.ascontiguousarray(clean.literals), np.ascontiguousarray(clean.offsets)
    state = code.tailcut_search_begin(
        clean.n_variables, clean.n_clauses, literals.ctypes.data, offsets.ctypes.data, seed % 2**64
    )
    if not state:
        raise MemoryError
    try:
        left = flips
        while left is None or left > 0:
            now = FLIPS_AT_ONCE if left is None else min(left, FLIPS_AT_ONCE)
            if code.tailcut_search_run(state, now):
                values = np.zeros(clean.n_variables, dtype=np.int8)
                code.tailcut_search_values(state, values.ctypes.data)
                numbers = np.arange(1, clean.n_variables + 1, dtype=np.int32)
                return np.where(values == 1, numbers, -numbers).astype(np.int32)
            left = None if left is None else left - now
        return None
    finally:
        code.tailcut_search_end(state)


@cache
def load() -> ctypes.CDLL:
    """Return the compiled search, made on first use."""
    code = library("local_search.c")
    pointer, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    code.tailcut_search_begin.argtypes = (i32, i32, pointer, pointer, ctypes.c_uint64)
    code.tailcut_search_begin.restype = pointer
    code.tailcut_search_run.argtypes = (pointer, i64)
    code.tailcut_search_run.restype = ctypes.c_int
    code.tailcut_search_values.argtypes = (pointer, pointer)
    code.tailcut_search_values.restype = None
    code.tailcut_search_end.argtypes = (pointer,)
    code.tailcut_search_end.restype = None
    return code
