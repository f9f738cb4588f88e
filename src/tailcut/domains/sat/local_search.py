"""The solver ``local_search``: our own local search in C (``local_search.c``) for satisfiable formulas.

It cannot prove that there is no model; on an unsatisfiable formula it searches until it is stopped.

The source is compiled once into the user's cache, under a digest of the source, the command and the machine.
The file appears by renaming a finished one: of two processes that compile at once, both end up right.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from tailcut.domains.sat.cnf import Formula, Literals, tidy
from tailcut.errors import CompilerError
from tailcut.scenarios.cache import user_cache

SOURCE = "local_search.c"
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared")
"""No fused multiplication, so that the same seed is the same search on every processor."""

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
    made = compile_once()
    try:
        code = ctypes.CDLL(str(made))
    except OSError as error:
        raise CompilerError(f"{made}: cannot be loaded: {error}; delete it to have it made again") from None
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


def compile_once() -> Path:
    code = files("tailcut.domains.sat").joinpath(SOURCE).read_bytes()
    compiler = shlex.split(os.environ.get("TAILCUT_CC", "cc"))
    recipe = [*compiler, *FLAGS, sys.platform, platform.machine()]
    digest = hashlib.sha256("\n".join(recipe).encode() + b"\n" + code).hexdigest()
    made = user_cache() / "compiled" / f"{Path(SOURCE).stem}-{digest[:32]}.so"
    if made.exists():
        return made
    if not compiler or shutil.which(compiler[0]) is None:
        raise CompilerError(
            f"the local search is compiled on first use and there is no C compiler "
            f"{' '.join(compiler) or 'named'!r}: install one (Debian: apt install gcc libc6-dev), "
            "or name it in TAILCUT_CC"
        )
    try:
        made.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=made.parent, prefix=f".{made.stem}.")
    except OSError as error:
        raise CompilerError(
            f"{made.parent}: cannot be written: {error.strerror or error}; "
            "set TAILCUT_CACHE to a folder that can"
        ) from None
    with scratch as folder:
        compiled = Path(folder, made.name)
        command = [*compiler, *FLAGS, "-x", "c", "-", "-o", str(compiled), "-lm"]
        result = subprocess.run(command, input=code, capture_output=True, check=False)
        if result.returncode:
            said = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing"]
            raise CompilerError(f"{' '.join(compiler)} failed on {made.stem}; it says: {said[0]}")
        compiled.replace(made)
    return made
