"""Compile a C source of this package once, with the system's compiler, into the user's cache.

The file's name is a digest of the source, the command and the machine, so a changed source is another
file. It appears by renaming a finished one: of two processes that compile at once, both end up right.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from tailcut.errors import CompilerError
from tailcut.scenarios.cache import user_cache

FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared")
"""No fused multiplication, so that the same seed is the same search on every processor."""


def library(source: str) -> ctypes.CDLL:
    """Return the C source named `source` as a loaded library, compiled if that was not done before."""
    made = compile_once(source)
    try:
        return ctypes.CDLL(str(made))
    except OSError as error:
        raise CompilerError(f"{made}: cannot be loaded: {error}; delete it to have it made again") from None


def compile_once(source: str) -> Path:
    """Return the file of the compiled library."""
    code = files("tailcut.domains.sat").joinpath(source).read_bytes()
    compiler = shlex.split(os.environ.get("TAILCUT_CC", "cc"))
    recipe = [*compiler, *FLAGS, sys.platform, platform.machine()]
    digest = hashlib.sha256("\n".join(recipe).encode() + b"\n" + code).hexdigest()
    made = user_cache() / "compiled" / f"{Path(source).stem}-{digest[:32]}.so"
    if not made.exists():
        _compile(code, compiler, made)
    return made


def _compile(code: bytes, compiler: list[str], made: Path) -> None:
    if not compiler or shutil.which(compiler[0]) is None:
        raise CompilerError(
            f"the local search is compiled on first use and there is no C compiler "
            f"{' '.join(compiler) or 'named'!r}: install one (Debian: apt install gcc libc6-dev), "
            "or name it in TAILCUT_CC"
        )
    try:
        made.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=made.parent, prefix=f".{made.stem}.", suffix=".tmp")
    except OSError as error:
        raise CompilerError(
            f"{made.parent}: cannot be written: {error.strerror or error}; "
            "set TAILCUT_CACHE to a folder that can"
        ) from None
    os.close(handle)
    try:
        command = [*compiler, *FLAGS, "-x", "c", "-", "-o", temporary, "-lm"]
        result = subprocess.run(command, input=code, capture_output=True, check=False)
        if result.returncode:
            said = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing"]
            raise CompilerError(f"{' '.join(compiler)} failed on {made.stem}; it says: {said[0]}")
        Path(temporary).replace(made)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
