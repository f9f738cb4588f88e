"""Solutions as CBC prints them: a headline with the objective, then a line per variable that is not zero.

    Optimal - objective value 14.00000000
          3 x3                     2                       7

The fields are number, name, value and, by CBC only, reduced cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADLINE = re.compile(r"Optimal - objective value (\S+)")


def print_solution(names: Sequence[str], values: Sequence[float], objective: float) -> None:
    """Print an optimal solution."""
    print(f"Optimal - objective value {objective:.8f}")
    for number, (name, value) in enumerate(zip(names, values, strict=True)):
        if value:
            print(f"{number:7} {name} {value:.15g}")


def parse(text: str) -> tuple[float, dict[str, float]]:
    r"""Return the objective and the variables that are not zero; a ValueError says what cannot be read.

    >>> parse("Optimal - objective value 14.00000000\n  3 x3  2  7\n")
    (14.0, {'x3': 2.0})
    """
    headline, _, rest = text.partition("\n")
    found = _HEADLINE.match(headline)
    if found is None:
        raise ValueError(f"the first line must state the objective, got {headline!r}")
    fields = [line.split() for line in rest.splitlines() if line.strip()]
    return float(found[1]), {name: float(value) for _, name, value, *_ in fields}
