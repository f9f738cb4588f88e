"""Numbers that describe a formula before it is solved: ``python -m tailcut.domains.sat.features FILE``.

The 58 base features of GBDC (clause lengths, Horn clauses, balance of signs, degrees in three graphs), which
cost a millisecond per thousand clauses or so. It prints one JSON object; what is not a number is null.

GBDC ends the process on a formula without clauses or with an empty one, so those never reach it.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from tailcut.domains.programs import entry_point, needs_extra, print_features
from tailcut.domains.sat.cnf import Formula, dump, read
from tailcut.errors import FormulaError

_SHAPES = ("mean", "variance", "min", "max", "entropy")
_SHAPED = ("hornvars", "invhornvars", "balancecls", "balancevars")
_DEGREES = ("vcg_vdegree", "vcg_cdegree", "vg_degree", "cg_degree")

FEATURES: tuple[str, ...] = (
    "clauses", "variables", "bytes", "ccs",
    *(f"cls{length}" for length in range(1, 10)), "cls10p",
    "horn", "invhorn", "positive", "negative",
    *(f"{what}_{shape}" for what in (*_SHAPED, *_DEGREES) for shape in _SHAPES),
)  # fmt: skip
"""The names in the order of GBDC: sizes, clauses by length and kind, then distributions."""


def extract(path: str | Path) -> dict[str, float | None]:
    """Return the features of a DIMACS file (plain, .gz or .xz) by name, in the order of `FEATURES`."""
    formula = read(path)  # GBDC names no lines, and reads past much that is wrong
    if formula.n_clauses == 0 or (formula.lengths == 0).any():
        known = {"clauses": float(formula.n_clauses), "variables": float(formula.n_variables)}
        return {name: known.get(name) for name in FEATURES}
    found = _gbdc(path, formula)
    return {name: found[name] if math.isfinite(found[name]) else None for name in FEATURES}


def _gbdc(path: str | Path, formula: Formula) -> dict[str, float]:
    with needs_extra("computing features", "sat"):
        import gbdc
    try:
        return dict(gbdc.extract_base_features(str(path)))
    except RuntimeError:  # something that we read and GBDC does not, such as the end mark of SATLIB
        with tempfile.NamedTemporaryFile(suffix=".cnf") as file:
            file.write(dump(formula))
            file.flush()
            try:
                return dict(gbdc.extract_base_features(file.name))
            except RuntimeError as error:
                raise FormulaError(f"{path}: GBDC cannot read it: {error}") from None


main = entry_point(__name__, print_features, extract, "DIMACS CNF file")
