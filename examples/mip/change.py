"""A solver of our own for one kind of program: one equality over whole variables, by dynamic programming.

Nothing cheaper is known of an amount than the cheapest way to reach it with one coin more. What cannot be
solved like this ends at once with exit code 3: the selector learns for which programs this solver is good.
"""

from __future__ import annotations

import numpy as np

from tailcut.domains.mip.answers import solution_text
from tailcut.domains.mip.mps import Floats, Indices, IntegerProgram, read_program

NOT_MY_KIND = 3


def main(arguments: list[str]) -> int:
    """Solve the program in a file and print its solution; exit code 3: not of this kind, or no solution."""
    program = read_program(arguments[0])
    if not _is_change(program):
        return NOT_MY_KIND
    counts = cheapest(program.values.astype(int), program.cost[program.columns], int(program.row_lower[0]))
    if counts is None or np.any(counts > program.upper[program.columns]):
        return NOT_MY_KIND
    x = np.zeros(len(program.names))
    x[program.columns] = counts
    print(solution_text(program.names, x.tolist(), program.objective(x)), end="")
    return 0


def _is_change(program: IntegerProgram) -> bool:
    """Return whether all there is to a program is to reach an amount with coins of positive cost."""
    return bool(
        len(program.row_lower) == 1
        and program.row_lower[0] == program.row_upper[0]
        and not program.maximise
        and not program.lower.any()
        and program.whole.all()
        and (program.cost > 0).all()
        and (program.values >= 1).all()
        and (program.values % 1 == 0).all()
        and program.row_lower[0] >= 0
    )


def cheapest(coins: Indices, cost: Floats, amount: int) -> Indices | None:
    """Return how many of each coin pay an amount at the least cost; None if none do.

    >>> cheapest(np.array([3, 5]), np.array([1.0, 1.0]), 14)
    array([3, 1])
    """
    best, last = np.full(amount + 1, np.inf), np.full(amount + 1, -1)
    best[0] = 0.0
    step = int(coins.min())  # so many amounts at once: none of them is reached from another
    for low in range(1, amount + 1, step):
        high = min(low + step, amount + 1)
        for number, coin in enumerate(coins):
            first = max(low, int(coin))
            price = best[first - coin : max(high - coin, 0)] + cost[number]
            here = slice(first, max(high, first))
            better = price < best[here]
            best[here][better] = price[better]
            last[here][better] = number
    counts = np.zeros(len(coins), dtype=int)
    if not np.isfinite(best[amount]):
        return None
    while amount:
        counts[last[amount]] += 1
        amount -= int(coins[last[amount]])
    return counts
