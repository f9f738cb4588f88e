"""Scripts to try the domain on: ``python -m tailcut.domains.smt.generate FOLDER --count 60 --seed 0``.

Six families over as many logics, a fraction of a second each for the better solvers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tailcut.domains.programs import entry_point, print_generated


def _script(logic: str, lines: Sequence[str]) -> str:
    return "\n".join([f"(set-logic {logic})", *lines, "(check-sat)", "(exit)", ""])


def factors(chance: random.Random) -> str:
    """Return whether a number is a product of two others, as bit-vectors: satisfiable about half the time."""
    width = chance.choice([10, 12, 14])
    product = chance.randrange(3, 2**width, 2)
    names = [f"(declare-const {name} (_ BitVec {2 * width}))" for name in "xy"]
    bounds = [f"(assert (bvult {name} (_ bv{2**width} {2 * width})))" for name in "xy"]
    above = [f"(assert (bvugt {name} (_ bv1 {2 * width})))" for name in "xy"]
    goal = f"(assert (= (bvmul x y) (_ bv{product} {2 * width})))"
    return _script("QF_BV", [*names, *bounds, *above, goal])


def knapsack(chance: random.Random) -> str:
    """Return two equalities over small whole numbers."""
    n = chance.randint(6, 9)
    lines = [f"(declare-const x{i} Int)(assert (<= 0 x{i} 9))" for i in range(n)]
    hidden = [chance.randint(0, 9) for _ in range(n)]
    for _ in range(2):
        weights = [chance.randint(5, 60) for _ in range(n)]
        side = sum(map(int.__mul__, weights, hidden)) + chance.choice([0, 0, chance.randint(1, 4)])
        lines.append(f"(assert (= (+ {' '.join(f'(* {w} x{i})' for i, w in enumerate(weights))}) {side}))")
    return _script("QF_LIA", lines)


def shop(chance: random.Random) -> str:
    """Return a job shop with a deadline, as differences of integers."""
    jobs, machines = chance.randint(3, 5), 3
    length = [[chance.randint(1, 9) for _ in range(machines)] for _ in range(jobs)]
    order = [chance.sample(range(machines), machines) for _ in range(jobs)]
    busiest = max(sum(length[j][m] for j in range(jobs)) for m in range(machines))
    deadline = busiest + chance.randint(0, 4)
    lines = [f"(declare-const s{j}_{m} Int)" for j in range(jobs) for m in range(machines)]
    for j in range(jobs):
        lines += [
            f"(assert (and (>= s{j}_{m} 0) (<= s{j}_{m} {deadline - length[j][m]})))" for m in range(machines)
        ]
        for a, b in zip(order[j], order[j][1:], strict=False):
            lines.append(f"(assert (>= (- s{j}_{b} s{j}_{a}) {length[j][a]}))")
        for other in range(j):
            for m in range(machines):
                first = f"(>= (- s{j}_{m} s{other}_{m}) {length[other][m]})"
                lines.append(f"(assert (or {first} (>= (- s{other}_{m} s{j}_{m}) {length[j][m]})))")
    return _script("QF_IDL", lines)


def blend(chance: random.Random) -> str:
    """Return alternatives between linear inequalities over the reals."""
    n = chance.randint(4, 7)
    lines = [f"(declare-const x{i} Real)(assert (<= 0.0 x{i} 10.0))" for i in range(n)]

    def row() -> str:
        terms = " ".join(f"(* {chance.randint(1, 9)}.0 x{i})" for i in chance.sample(range(n), 3))
        sense = chance.choice(["<=", ">="])
        return f"({sense} (+ {terms}) {chance.randint(20, 120)}.0)"

    lines += [f"(assert (or {row()} {row()}))" for _ in range(3 * n)]
    return _script("QF_LRA", lines)


def congruence(chance: random.Random) -> str:
    """Return equalities and distinctions between values of a function."""
    n = chance.randint(6, 9)
    lines = ["(declare-sort U 0)", "(declare-fun f (U U) U)"]
    lines += [f"(declare-fun c{i} () U)" for i in range(n)]

    def term(depth: int = 2) -> str:
        if depth == 0 or chance.random() < 0.3:
            return f"c{chance.randrange(n)}"
        return f"(f {term(depth - 1)} {term(depth - 1)})"

    for _ in range(4 * n):
        literals = (f"(= {term()} {term()})" for _ in range(2))
        signed = [one if chance.random() < 0.55 else f"(not {one})" for one in literals]
        lines.append(f"(assert (or {' '.join(signed)}))")
    return _script("QF_UF", lines)


def swaps(chance: random.Random) -> str:
    """Return whether two orders of swaps leave an array the same, of which one may lack a swap."""
    n = chance.randint(3, 5)
    lines = ["(declare-const a0 (Array (_ BitVec 4) (_ BitVec 8)))"]
    lines += [f"(declare-const i{k} (_ BitVec 4))(declare-const j{k} (_ BitVec 4))" for k in range(n)]

    def swapped(array: str, k: int) -> str:
        return f"(store (store {array} i{k} (select {array} j{k})) j{k} (select {array} i{k}))"

    for k in range(n):
        lines.append(f"(define-fun a{k + 1} () (Array (_ BitVec 4) (_ BitVec 8)) {swapped(f'a{k}', k)})")
    back = list(reversed(range(n)))
    if chance.random() < 0.5:
        back.remove(chance.randrange(n))
    lines.append(f"(define-fun b0 () (Array (_ BitVec 4) (_ BitVec 8)) a{n})")
    for step, k in enumerate(back):
        array = swapped(f"b{step}", k)
        lines.append(f"(define-fun b{step + 1} () (Array (_ BitVec 4) (_ BitVec 8)) {array})")
    lines.append(f"(assert (not (= a0 b{len(back)})))")
    return _script("QF_ABV", lines)


main = entry_point(__name__, print_generated, (factors, knapsack, shop, blend, congruence, swaps), "smt2")
