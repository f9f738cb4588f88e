"""Programs to try the domain on: ``python -m tailcut.domains.mip.generate FOLDER --count 60 --seed 0``.

Exact change (one equality), set covering, lot sizing with set-up costs, and knapsacks to be maximised.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from tailcut.domains.mip.mps import mps_field, mps_text
from tailcut.domains.programs import entry_point, print_generated

Numbers = dict[str, float]
Row = tuple[str, Numbers, float]
"""Sense, coefficients and side."""


def _mps(cost: Numbers, rows: Sequence[Row], upper: Numbers, whole: Iterable[str], *, maximise: bool) -> str:
    entries = {name: [("cost", value)] for name, value in cost.items()}
    for number, (_, coefficients, _) in enumerate(rows):
        for name, value in coefficients.items():
            entries[name].append((f"r{number}", value))
    bounds = [mps_field("BND", name, bound, " UP") for name, bound in upper.items()]
    sides = [(sense, side) for sense, _, side in rows]
    return mps_text(sides, entries, {*whole}, ["BOUNDS", *bounds], maximise)


def change(chance: random.Random) -> str:
    """Return an amount to be paid exactly with as little weight as possible; some cannot be paid."""
    n = chance.randint(6, 10)
    coins = {f"x{i}": 3 * chance.randint(100, 400) for i in range(n)}
    amount = 3 * chance.randint(1000, 3000) + chance.choice([0, 0, 0, 1])
    cost = {name: float(chance.randint(20, 100)) for name in coins}
    upper = {name: float(amount // coin) for name, coin in coins.items()}
    row: Row = ("E", {name: float(coin) for name, coin in coins.items()}, float(amount))
    return _mps(cost, [row], upper, coins, maximise=False)


def cover(chance: random.Random) -> str:
    """Return the cheapest variables of which every row has one."""
    n, m = 60, chance.randint(30, 45)
    names = [f"x{i}" for i in range(n)]
    rows: list[Row] = [("G", dict.fromkeys(chance.sample(names, 6), 1.0), 1.0) for _ in range(m)]
    cost = {name: float(chance.randint(1, 50)) for name in names}
    return _mps(cost, rows, dict.fromkeys(names, 1.0), names, maximise=False)


def lots(chance: random.Random) -> str:
    """Return what to make in each period: making takes a set-up, what is left is kept in stock."""
    items, periods = 2, chance.randint(5, 7)
    demand = [[chance.randint(10, 60) for _ in range(periods)] for _ in range(items)]
    most = max(sum(sum(row[: t + 1]) for row in demand) / (t + 1) for t in range(periods))
    capacity = int(1.3 * most) + 1
    cost: dict[str, float] = {}
    rows: list[Row] = [("L", {f"m{i}_{t}": 1.0 for i in range(items)}, capacity) for t in range(periods)]
    for i in range(items):
        for t in range(periods):
            cost |= {f"s{i}_{t}": float(chance.randint(80, 300)), f"m{i}_{t}": 0.0, f"k{i}_{t}": 2.0}
            rows.append(("L", {f"m{i}_{t}": 1.0, f"s{i}_{t}": -float(capacity)}, 0.0))
            before = {f"k{i}_{t - 1}": 1.0} if t else {}
            rows.append(("E", {f"m{i}_{t}": 1.0, f"k{i}_{t}": -1.0, **before}, float(demand[i][t])))
    setups = [name for name in cost if name.startswith("s")]
    return _mps(cost, rows, dict.fromkeys(setups, 1.0), setups, maximise=False)


def knapsack(chance: random.Random) -> str:
    """Return what to pack into three sacks' limits for the greatest value."""
    names = [f"x{i}" for i in range(chance.randint(20, 30))]
    rows: list[Row] = []
    for _ in range(3):
        weights = {name: float(chance.randint(5, 60)) for name in names}
        rows.append(("L", weights, float(int(sum(weights.values()) / 2))))
    value = {name: float(chance.randint(5, 60)) for name in names}
    return _mps(value, rows, dict.fromkeys(names, 1.0), names, maximise=True)


main = entry_point(__name__, print_generated, (change, cover, lots, knapsack), "mps")
