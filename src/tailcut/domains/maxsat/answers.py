"""What MaxSAT solvers print: ``o COST``, ``s OPTIMUM FOUND`` and a model, as bits or as literals.

``python -m tailcut.domains.maxsat.answers FILE OUTPUT`` verifies it: the model must satisfy every hard clause
and have the cost that is claimed. Optimality is not verified: contradictions between solvers are found
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tailcut.domains.maxsat.wcnf import read_wcnf
from tailcut.domains.programs import entry_point, print_verdict, read_to_check
from tailcut.errors import InputError

OPTIMUM_FOUND, UNSATISFIABLE = 30, 20
"""Exit codes, as in MaxSAT Evaluations."""


class Optimum(NamedTuple):
    """A cost that is claimed to be the least, and the literals of a model that has it."""

    cost: int
    model: list[int]


def optimum_text(cost: int, model: Sequence[int], n_variables: int) -> str:
    r"""Return an optimum as it is printed since 2020, with a bit for each variable.

    >>> optimum_text(3, [1, -2], 2)
    'o 3\ns OPTIMUM FOUND\nv 10\n'
    """
    true = {literal for literal in model if literal > 0}
    bits = "".join("1" if variable in true else "0" for variable in range(1, n_variables + 1))
    return f"o {cost}\ns OPTIMUM FOUND\nv {bits}\n"


def parse_optimum(text: str) -> Optimum | None:
    r"""Return the optimum that a solver printed; None if it claims none.

    >>> parse_optimum("o 5\no 3\ns OPTIMUM FOUND\nv 1 -2\n")
    Optimum(cost=3, model=[1, -2])
    """
    lines = text.splitlines()
    if not any(line.split() == ["s", "OPTIMUM", "FOUND"] for line in lines):
        return None
    try:
        costs = [int(line.split()[1]) for line in lines if line.startswith("o ")]
        words = [word for line in lines if line.startswith("v") for word in line[1:].split()]
        bits = len(words) == 1 and set(words[0]) <= {"0", "1"}
        literals = (
            [n if bit == "1" else -n for n, bit in enumerate(words[0], 1)] if bits else list(map(int, words))
        )
    except (ValueError, IndexError) as error:
        raise InputError(f"cannot be read: {error}") from None
    if not costs:
        raise InputError("an optimum was found, but no line 'o COST' says which")
    return Optimum(costs[-1], [literal for literal in literals if literal])


def refuted(file: Path, output: str, _: str = "") -> str | None:
    """Return what is wrong with a printed optimum, None if nothing is."""
    try:
        claimed = parse_optimum(output)
    except InputError as error:
        return str(error)
    if claimed is None:
        return None
    cost = read_to_check(read_wcnf, file).cost(claimed.model)
    if cost is None:
        return "the model breaks a hard clause"
    return None if cost == claimed.cost else f"the model costs {cost}, not {claimed.cost}"


verify = entry_point(__name__, print_verdict, "WCNF file", refuted)
