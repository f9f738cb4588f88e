"""Solutions as CBC prints them: a headline with the objective, then a line per variable that is not zero.

    Optimal - objective value 14.00000000
          3 x3                     2                       7

The fields are number, name, value and, by CBC only, reduced cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailcut.errors import InputError

_HEADLINE = re.compile(r"Optimal - objective value (\S+)")


def one_word(name: str) -> str:
    """Return a variable's name as solutions have it: old MPS files have names with blanks."""
    return name.replace(" ", "_")


def solution_text(names: Sequence[str], values: Sequence[float], objective: float) -> str:
    r"""Return an optimal solution as text.

    >>> solution_text(["x", "y"], [0.0, 2.0], 14.0)
    'Optimal - objective value 14\n      1 y 2\n'
    """
    lines = [f"Optimal - objective value {objective:.12g}"]
    named = zip(names, values, strict=True)
    lines += [
        f"{number:7} {one_word(name)} {value:.15g}" for number, (name, value) in enumerate(named) if value
    ]
    return "\n".join(lines) + "\n"


def parse_solution(text: str) -> tuple[float, dict[str, float]]:
    r"""Return the objective and the variables that are not zero; an error says what cannot be read.

    >>> parse_solution("Optimal - objective value 14.00000000\n  3 x3  2  7\n")
    (14.0, {'x3': 2.0})
    """
    headline, _, rest = text.partition("\n")
    found = _HEADLINE.match(headline)
    if found is None:
        raise InputError(f"the first line must state the objective, got {headline[:80]!r}")
    values = {}
    for line in rest.splitlines():
        fields = [word for word in line.split() if word != "**"]  # CBC's mark of a value out of its bounds
        if not fields:
            continue
        try:
            values[fields[1]] = float(fields[2])
        except (IndexError, ValueError):
            raise InputError(f"a line must have a number, a name and a value, got {line[:80]!r}") from None
    return float(found[1]), values
