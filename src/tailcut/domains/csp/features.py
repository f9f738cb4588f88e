"""Features of a constraint model's text and data: ``python -m tailcut.domains.csp.features FILE``."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

from tailcut.domains.csp.solve import model_files
from tailcut.domains.file_features import extract as describe_file
from tailcut.domains.programs import entry_point, print_features, read_bytes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_GROUPS = {
    "constraints": b"constraint", "variables": b"var", "arrays": b"array", "booleans": b"bool",
    "sets": b"set", "floats": b"float", "forall": b"forall", "exists": b"exists", "sums": b"sum bool2int",
    "different": b"alldifferent all_different fzn_all_different_int int_ne int_lin_ne",
    "linear": b"int_lin_eq int_lin_le int_lin_eq_reif int_lin_le_reif",
    "element": b"element array_int_element array_var_int_element", "table": b"table regular",
    "scheduling": b"cumulative disjunctive diffn", "counting": b"count global_cardinality among nvalue",
    "circuit": b"circuit subcircuit inverse", "clauses": b"bool_clause array_bool_or array_bool_and",
    "minimise": b"minimize", "maximise": b"maximize", "satisfy": b"satisfy",
}  # fmt: skip


def extract(path: str | Path) -> dict[str, float | None]:
    """Return what a model's words are, and what is known about the instance's own file as of any file."""
    text = b"\n".join(read_bytes(file, 4 * 2**20) for file in model_files(Path(path)))
    counts = Counter(_WORD.findall(re.sub(rb"%[^\n]*", b"", text)))
    named = {f"log_{name}": sum(counts[word] for word in group.split()) for name, group in _GROUPS.items()}
    return {**{name: math.log1p(count) for name, count in named.items()}, **describe_file(path)}


main = entry_point(__name__, print_features, extract, "MiniZinc or FlatZinc file")
