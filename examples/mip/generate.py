"""Writes mixed-integer programs of three families into a folder: `python generate.py FOLDER COUNT SEED`.

Exact change (one row, an equality), set covering, and lot sizing with set-up costs. The families take turns,
so every stretch of a stream has all of them. The same seed writes the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mps

Chance = np.random.Generator
Row = tuple[Any, Any, str, float]
"""Variables, their coefficients, sense and side of a row."""


def change(chance: Chance) -> mps.Program:
    """Return an amount to be paid exactly: how many of each coin, so that the coins weigh least."""
    n = int(chance.integers(12, 18))
    coin = chance.choice(np.arange(2000, 6000), n, replace=False)
    amount = int(chance.integers(40_000, 60_000))
    return _program(chance.integers(20, 100, n), [(range(n), coin, "E", amount)], amount // coin)


def cover(chance: Chance) -> mps.Program:
    """Return a set covering: the cheapest variables of which every row has one."""
    m, n, each = int(chance.integers(150, 190)), 700, 18
    rows: list[Row] = [(chance.choice(n, each, replace=False), np.ones(each), "G", 1) for _ in range(m)]
    return _program(chance.integers(1, 101, n), rows, np.ones(n))


def lots(chance: Chance) -> mps.Program:
    """Return a lot sizing: what is made in a period takes a set-up there, what is left is kept in stock."""
    items, periods = int(chance.integers(3, 5)), int(chance.integers(10, 13))
    demand = chance.integers(10, 60, (items, periods))
    capacity = int(1.2 * (demand.sum(axis=0).cumsum() / np.arange(1, periods + 1)).max())
    ready, made, kept = np.arange(3 * demand.size).reshape(3, items, periods)
    rows: list[Row] = [(made[:, t], np.ones(items), "L", capacity) for t in range(periods)]
    for i, t in np.ndindex(items, periods):
        rows.append(([made[i, t], ready[i, t]], [1, -capacity], "L", 0))
        balance = [made[i, t], kept[i, t], *kept[i, :t][-1:]]
        rows.append((balance, [1, -1, 1][: len(balance)], "E", int(demand[i, t])))
    cost = np.concatenate([chance.integers(80, 300, demand.size), np.repeat([0, 2], demand.size)])
    upper = np.repeat([1, capacity, demand.sum()], demand.size)
    return _program(cost, rows, upper, whole=demand.size)


FAMILIES = (change, cover, lots)


def _program(cost: Any, rows: Sequence[Row], upper: Any, whole: int | None = None) -> mps.Program:
    """Return a program from its rows; the first `whole` variables, or all, must be whole numbers."""
    n = len(cost)
    return mps.Program(
        names=tuple(f"x{column}" for column in range(n)),
        cost=np.asarray(cost, float),
        whole=np.arange(n) < (n if whole is None else whole),
        upper=np.asarray(upper, float),
        senses=tuple(row[2] for row in rows),
        sides=np.array([row[3] for row in rows], float),
        rows=np.repeat(np.arange(len(rows)), [len(row[0]) for row in rows]),
        columns=np.concatenate([np.asarray(row[0]) for row in rows]),
        values=np.concatenate([np.asarray(row[1], float) for row in rows]),
    )


def main(arguments: list[str]) -> None:
    """Write the files, named by number and family."""
    folder, count, seed = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        family = FAMILIES[number % len(FAMILIES)]
        mps.write(
            folder / f"{number:03}-{family.__name__}.mps", family(np.random.default_rng([seed, number]))
        )


if __name__ == "__main__":
    main(sys.argv[1:])
