"""Read and write DIMACS CNF files, plain or compressed (.gz, .xz, .bz2).

Tolerated: comments anywhere, no header line, clauses over several lines or several on one, more variables
declared than used, and the ``%`` that ends the files of SATLIB. Everything else is an error with its line;
lines are counted only after something was found to be wrong, so that reading stays fast.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.files import read_bytes
from tailcut.domains.sat.formula import LARGEST, Formula
from tailcut.errors import FormulaError, InputError

_HEADER = re.compile(rb"^[ \t]*p[^\n]*$", re.MULTILINE)
_COUNTS = re.compile(rb"\s*p\s+cnf\s+(\d{1,10})\s+(\d{1,10})\s*")
_COMMENT = re.compile(rb"^[ \t]*c[^\n]*$", re.MULTILINE)
_SPACE = np.zeros(256, dtype=np.bool_)
_SPACE[list(b" \t\r\n\v\f")] = True
_MINUS = ord("-")


def read(path: str | os.PathLike[str]) -> Formula:
    """Return the formula in a DIMACS file; a name that ends in .gz or .xz says that it is compressed."""
    return parse(_bytes_of(Path(path)), str(path))


def parse(data: bytes, name: str = "formula") -> Formula:
    r"""Return the formula that DIMACS text stands for; errors call it `name`.

    >>> parse(b"c two clauses\np cnf 3 2\n1 -3 0 2\n3 0\n").clauses()
    [[1, -3], [2, 3]]
    """
    clean = _COMMENT.sub(b"", data) if b"c" in data else data
    if b"%" in clean:
        clean = clean[: clean.index(b"%")]
    counts, body = _header(clean, data, name)
    values = _integers(body)
    if values is None:
        raise _first_mistake(data, name)
    ends = np.flatnonzero(values == 0)
    if len(values) and values[-1] != 0:
        raise FormulaError(f"{name}: the last clause has no 0 at its end")
    largest = int(np.abs(values).max(initial=0))
    n_variables, n_clauses = counts or (largest, len(ends))
    if counts and n_variables > LARGEST:
        raise FormulaError(f"{name}: the header announces {n_variables} variables; there may be {LARGEST}")
    if largest > min(n_variables, LARGEST):
        raise _first_literal_beyond(min(n_variables, LARGEST), data, name)
    if len(ends) != n_clauses:
        raise FormulaError(f"{name}: the header announces {n_clauses} clauses, but there are {len(ends)}")
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    offsets[1:] = ends - np.arange(len(ends))
    return Formula(n_variables, values[values != 0].astype(np.int32), offsets)


def write(path: str | os.PathLike[str], formula: Formula, comment: str = "") -> None:
    """Write a DIMACS file, all or nothing; a name that ends in .gz or .xz is compressed.

    The bytes depend on the formula, the comment and the ending alone: no time, no name.
    """
    target = Path(path)
    data = dump(formula, comment)
    if target.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif target.suffix == ".xz":
        data = lzma.compress(data)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def dump(formula: Formula, comment: str = "") -> bytes:
    r"""Return a formula as DIMACS text.

    >>> dump(Formula.of([[1, -3], [2]]), "made by hand")
    b'c made by hand\np cnf 3 2\n1 -3 0\n2 0\n'
    """
    lines = [f"c {line}".rstrip() for line in comment.splitlines()]
    lines.append(f"p cnf {formula.n_variables} {formula.n_clauses}")
    words = list(map(str, formula.literals.tolist()))
    offsets = formula.offsets.tolist()
    lines += [" ".join([*words[start:end], "0"]) for start, end in pairwise(offsets)]
    return ("\n".join(lines) + "\n").encode()


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except InputError as error:
        raise FormulaError(str(error)) from None


def _header(clean: bytes, data: bytes, name: str) -> tuple[tuple[int, int] | None, bytes]:
    """Return the announced numbers of variables and clauses, if any, and the text after them."""
    if b"p" not in clean:
        if not clean.strip():
            raise FormulaError(f"{name}: holds no formula; expected 'p cnf VARIABLES CLAUSES' and clauses")
        return None, clean
    header = _HEADER.search(clean)
    counts = _COUNTS.fullmatch(header.group()) if header else None
    if not header or not counts or clean[: header.start()].strip():
        raise _first_mistake(data, name)
    return (int(counts[1]), int(counts[2])), clean[header.end() :]


def _integers(body: bytes) -> NDArray[np.int64] | None:
    """Return the integers in `body`, or None if anything else is in it."""
    if body.translate(None, b"0123456789- \t\r\n\v\f"):
        return None
    text = np.frombuffer(b" " + body + b" ", dtype=np.uint8)
    space = _SPACE[text]
    minus = np.flatnonzero(text == _MINUS)
    if not space[minus - 1].all() or (space | (text == _MINUS))[minus + 1].any():
        return None  # a minus in the middle of a number, or before none
    # Now every token is an optional minus and digits, which is all that this can read without complaint.
    return (
        np.fromstring(body.decode("ascii"), dtype=np.int64, sep=" ")
        if not space.all()
        else np.zeros(0, np.int64)
    )


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    """Return the lines that are not comments, up to a ``%``, with their numbers."""
    found = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.lstrip(b" \t").startswith(b"c"):
            continue
        found.append((number, line.split(b"%")[0]))
        if b"%" in line:
            break
    return found


def _first_mistake(data: bytes, name: str) -> FormulaError:
    """Return what is wrong in text that is not a header followed by integers."""
    begun = False
    for number, line in _lines(data):
        place = f"{name}, line {number}"
        if line.lstrip(b" \t").startswith(b"p"):
            if begun:
                return FormulaError(f"{place}: a header, but there was one, or clauses, before it")
            if not _COUNTS.fullmatch(line):
                return FormulaError(f"{place}: expected 'p cnf VARIABLES CLAUSES', got {_shown(line)}")
        else:
            for word in line.split():
                if not re.fullmatch(rb"-?\d+", word):
                    return FormulaError(f"{place}: expected integers, got {_shown(word)}")
        begun = begun or bool(line.strip())
    raise AssertionError(f"{name}: read as malformed, but no line is")


def _first_literal_beyond(largest: int, data: bytes, name: str) -> FormulaError:
    for number, line in _lines(data):
        for word in line.split() if b"p" not in line else ():
            digits = word.lstrip(b"-0")
            if len(digits) > len(str(largest)) or int(digits or b"0") > largest:
                return FormulaError(
                    f"{name}, line {number}: literal {_shown(word)}, but the last variable is {largest}"
                )
    raise AssertionError(f"{name}: a literal was beyond {largest}, but no line has one")


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace").strip())
