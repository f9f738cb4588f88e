"""Solutions as MiniZinc prints them: ``NAME = VALUE;``, then ten dashes, ten equal signs if optimal."""

from __future__ import annotations

import re
from typing import Any

from tailcut.domains.csp.flatzinc import FlatModel, Var


def solution_lines(flat: FlatModel, found: dict[str, int | bool]) -> str:
    """Return the lines of a solution, for MiniZinc to format as the model specifies."""
    lines = []
    for name, sets in flat.outputs.items():
        if sets is None:
            lines.append(f"{name} = {_text(found[name])};")
        else:
            values = [_text(found[one.name] if isinstance(one, Var) else one) for one in flat.values[name]]
            ranges = ",".join(f"{one.start}..{one.stop - 1}" for one in sets)
            lines.append(f"{name} = array{len(sets)}d({ranges},[{','.join(values)}]);")
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_solution_lines(text: str) -> dict[str, str]:
    r"""Return the last solution that was printed, by name; empty if there is none.

    >>> parse_solution_lines("x = 1;\n----------\nx = 2;\n_objective = 2;\n----------\n==========\n")
    {'x': '2', '_objective': '2'}
    """
    solutions = re.split(r"^----------\s*$", text, flags=re.M)
    if len(solutions) < 2:
        return {}
    return dict(re.findall(r"^(\w+) = (.*?);\s*$", solutions[-2], flags=re.M | re.S))
