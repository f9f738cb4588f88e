"""Models to try the domain on: ``python -m tailcut.domains.csp.generate FOLDER --count 60 --seed 0``.

Colourings (some impossible), queens that collect the most, assignments, and jobs on one machine.
"""

from __future__ import annotations

import itertools
import random

from tailcut.domains.programs import entry_point, print_generated


def colours(chance: random.Random) -> str:
    """Return a graph to be coloured with three colours; about half cannot be."""
    n = chance.randint(8, 12)
    pairs = itertools.combinations(range(1, n + 1), 2)
    edges = [f"constraint c[{a}] != c[{b}];" for a, b in pairs if chance.random() < 4.6 / n]
    return "\n".join([f"array[1..{n}] of var 1..3: c;", *edges, "solve satisfy;", ""])


def queens(chance: random.Random) -> str:
    """Return queens that do not attack each other, on the squares that are worth the most."""
    n = chance.randint(5, 7)
    worth = [[chance.randint(0, 20) for _ in range(n)] for _ in range(n)]
    table = "\n".join(f"array[1..{n}] of int: w{i} = {row};" for i, row in enumerate(worth, 1))
    lines = [
        'include "alldifferent.mzn";',
        table,
        f"array[1..{n}] of var 1..{n}: q;",
        "constraint alldifferent(q);",
        f"constraint alldifferent([q[i] + i | i in 1..{n}]);",
        f"constraint alldifferent([q[i] - i | i in 1..{n}]);",
        "solve maximize " + " + ".join(f"w{i}[q[{i}]]" for i in range(1, n + 1)) + ";",
    ]
    return "\n".join([*lines, ""])


def sacks(chance: random.Random) -> str:
    """Return what to pack within two limits, some things only with others."""
    n = chance.randint(8, 12)
    value, heavy, large = ([chance.randint(3, 30) for _ in range(n)] for _ in range(3))
    lines = [f"array[1..{n}] of var bool: x;"]
    lines += [
        f"constraint sum(i in 1..{n})({weights}[i] * bool2int(x[i])) <= {sum(weights) // 2};"
        for weights in (heavy, large)
    ]
    for _ in range(n // 2):
        a, b, c = chance.sample(range(1, n + 1), 3)
        lines.append(f"constraint x[{a}] -> (x[{b}] \\/ not x[{c}]);")
    return "\n".join([*lines, f"solve maximize sum(i in 1..{n})({value}[i] * bool2int(x[i]));", ""])


def jobs(chance: random.Random) -> str:
    """Return jobs on one machine, with deadlines, so that they are late by as little as possible."""
    n = chance.randint(4, 6)
    length, due = [chance.randint(1, 9) for _ in range(n)], [chance.randint(5, 25) for _ in range(n)]
    total = sum(length)
    lines = [
        f"array[1..{n}] of int: p = {length};",
        f"array[1..{n}] of int: d = {due};",
        f"array[1..{n}] of var 0..{total}: s;",
        f"constraint forall(i in 1..{n})(s[i] + p[i] <= {total});",
        f"constraint forall(i, j in 1..{n} where i < j)(s[i] + p[i] <= s[j] \\/ s[j] + p[j] <= s[i]);",
        f"solve minimize sum(i in 1..{n})(max(0, s[i] + p[i] - d[i]));",
    ]
    return "\n".join([*lines, ""])


main = entry_point(__name__, print_generated, (colours, queens, sacks, jobs), "mzn")
