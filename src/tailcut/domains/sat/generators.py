"""Generated formulas: families that differ in which solver is best at them, and a mixed stream.

Everything is drawn from NumPy's PCG64 by seed and name, so a formula is the same on every machine. The
families were chosen to be complementary, so that each kind of solver has formulas it is best at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.domains.domain import domain_table
from tailcut.domains.programs import read_bytes
from tailcut.domains.sat.cnf import Formula, dump, write
from tailcut.errors import InputError
from tailcut.numerics.randomness import stream as random_stream

Rng = np.random.Generator


@dataclass(frozen=True)
class Family:
    draw: Callable[[Rng], Formula]
    what: str
    """What the formulas say, in one line."""
    suits: str
    """The kind of solver that is best at them."""


def generate(family: str, seed: int) -> Formula:
    """Return formula number `seed` of a family: its size is drawn, and everything is shuffled.

    >>> generate("pigeonhole", 3) == generate("pigeonhole", 3)
    True
    """
    _check([family])
    if seed < 0:
        raise InputError(f"a seed must be 0 or more, not {seed}")
    rng = random_stream(seed, f"sat family {family}")
    return shuffle(FAMILIES[family].draw(rng), rng)


def stream(n: int, seed: int, families: Sequence[str] | None = None) -> Iterator[tuple[str, Formula]]:
    """Yield n formulas with names such as ``pigeonhole-000017``, the families (all, if None) well mixed.

    The number in the name is the place in the stream, from 0. Every family comes n / len(families) times,
    give or take one, in an order drawn by `seed`. A shorter stream is not the beginning of a longer one.

    >>> [name for name, _ in stream(3, seed=0, families=["ordering", "pigeonhole"])]
    ['ordering-000000', 'pigeonhole-000001', 'ordering-000002']
    """
    return ((name, generate(family, number)) for name, family, number in plan(n, seed, families))


def plan(n: int, seed: int, families: Sequence[str] | None = None) -> list[tuple[str, str, int]]:
    """Return name, family and seed of every formula of `stream`, without making any."""
    names = list(FAMILIES if families is None else dict.fromkeys(families))
    _check(names)
    if n < 0 or seed < 0 or not names:
        raise InputError("a stream needs a length and a seed of 0 or more, and at least one family")
    rng = random_stream(seed, "sat stream")
    turns = [names[place % len(names)] for place in range(n)]
    order = rng.permutation(n).tolist()
    seeds = rng.integers(0, 2**63, size=n).tolist()
    return [(f"{turns[turn]}-{place:06d}", turns[turn], seeds[place]) for place, turn in enumerate(order)]


def _check(families: Sequence[str]) -> None:
    for family in families:
        if family not in FAMILIES:
            raise InputError(f"there is no family {family!r}; there are {', '.join(FAMILIES)}")


def write_stream(
    folder: Path,
    count: int,
    seed: int,
    families: Sequence[str] | None = None,
    *,
    on_written: Callable[[Path], None] = lambda _path: None,
) -> list[dict[str, Any]]:
    """Write the formulas of a stream into a folder; return file, family and seed of each, and if it is new.

    A file that is there already must hold the same formula, or nothing is written.
    """
    files = {folder / f"{name}.cnf": (family, number) for name, family, number in plan(count, seed, families)}
    new = {path: not path.exists() for path in files}
    for path, drawn in files.items():
        if not new[path] and read_bytes(path) != dump(*_with_comment(*drawn)):
            raise InputError(f"{path}: exists with different content; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, drawn in files.items():
            if new[path]:
                write(path, *_with_comment(*drawn))
            on_written(path)
    except OSError as error:
        place = error.filename or folder
        raise InputError(f"{place}: cannot be written: {error.strerror or error}") from None
    return [
        {"file": str(path), "family": family, "seed": number, "written": new[path]}
        for path, (family, number) in files.items()
    ]


def _with_comment(family: str, seed: int) -> tuple[Formula, str]:
    return generate(family, seed), f"tailcut.domains.sat.generators.generate({family!r}, {seed})"


def shuffle(formula: Formula, rng: Rng) -> Formula:
    """Return the formula with its variables renamed, their signs flipped, and its clauses mixed.

    Solvers and features get no help from the order it was made in.
    """
    n, m = formula.n_variables, formula.n_clauses
    names = rng.permutation(n).astype(np.int64) + 1
    signs = 2 * rng.integers(0, 2, size=n) - 1
    variable = np.abs(formula.literals).astype(np.int64) - 1
    literals = np.sign(formula.literals) * names[variable] * signs[variable]
    order = rng.permutation(m)
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(m)
    row = np.repeat(rank, formula.lengths)
    within = rng.random(len(literals))
    offsets = np.concatenate([[0], np.cumsum(formula.lengths[order])]).astype(np.int64)
    return Formula(n, literals[np.lexsort((within, row))].astype(np.int32), offsets)


def _random3(rng: Rng) -> Formula:
    u = float(rng.random())
    n = 1500 + round(8500 * u * u)  # more small than large; no logarithm, which machines round differently
    return uniform(rng, n=n, k=3, ratio=float(rng.uniform(3.9, 4.15)))


def uniform(rng: Rng, *, n: int, k: int, ratio: float) -> Formula:
    """Return random k-SAT: a formula of n variables and round(ratio n) clauses of k <= n different variables.

    >>> formula = uniform(np.random.Generator(np.random.PCG64(0)), n=10, k=3, ratio=4.26)
    >>> formula.n_clauses, set(formula.lengths.tolist())
    (43, {3})
    """
    m = round(ratio * n)
    variables = rng.integers(1, n + 1, size=(m, k))
    while True:  # draw clauses with a variable twice once more, until there is none
        ordered = np.sort(variables, axis=1)
        again = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not again.any():
            break
        variables[again] = rng.integers(1, n + 1, size=(int(again.sum()), k))
    signs = 2 * rng.integers(0, 2, size=(m, k)) - 1
    return Formula(n, (variables * signs).astype(np.int32).ravel(), np.arange(0, m * k + 1, k))


def quasigroup(rng: Rng, *, order: int, holes: float) -> Formula:
    """Return the completion of a random Latin square of which the share `holes` of cells was emptied.

    Source: Achlioptas, Gomes, Kautz and Selman, "Generating satisfiable problem instances", AAAI 2000.

    A variable says that an empty cell has a symbol which its row and column do not have yet.
    """
    square = latin_square(rng, order)
    empty = (rng.permutation(order * order) < round(holes * order * order)).reshape(order, order)
    in_row = [{int(square[i, j]) for j in range(order) if empty[i, j]} for i in range(order)]
    in_column = [{int(square[i, j]) for i in range(order) if empty[i, j]} for j in range(order)]
    variable = 0
    in_cell: dict[tuple[int, int], list[int]] = {}
    in_line: dict[tuple[str, int, int], list[int]] = {}
    for i, j in np.argwhere(empty).tolist():
        for symbol in sorted(in_row[i] & in_column[j]):
            variable += 1
            in_cell.setdefault((i, j), []).append(variable)
            in_line.setdefault(("row", i, symbol), []).append(variable)
            in_line.setdefault(("column", j, symbol), []).append(variable)
    clauses: list[tuple[int, ...]] = [tuple(members) for members in in_cell.values()]
    for members in in_line.values():
        clauses += _at_most_one(members)
    return Formula.of(clauses, variable)


def latin_square(rng: Rng, order: int) -> NDArray[np.int64]:
    """Return a Latin square, shape (order, order), by the random walk of Jacobson and Matthews.

    Seen as a cube of zeros and ones with one 1 per line, a step adds 1 to four cells and takes it from
    four others; the square may be improper (a single -1) on the way, but not at the end. Source: "Generating
    uniformly distributed random Latin squares", Journal of Combinatorial Designs 4 (1996).

    >>> square = latin_square(np.random.Generator(np.random.PCG64(0)), 5)
    >>> all(len(set(line)) == 5 for line in [*square.tolist(), *square.T.tolist()])
    True
    """
    cube = np.zeros((order, order, order), dtype=np.int8)
    rows, columns = np.indices((order, order))
    cube[rows, columns, (rows + columns) % order] = 1
    improper: tuple[int, int, int] | None = None
    steps = order**3
    while steps > 0 or improper:
        steps -= 1
        if improper is None:
            i, j, k = (int(x) for x in rng.integers(0, order, size=3))
            if cube[i, j, k]:
                continue
        else:
            i, j, k = improper
        # Where the three lines through the cell have their 1 (two of them through an improper cell).
        a = _one_of(np.flatnonzero(cube[:, j, k] == 1), rng)
        b = _one_of(np.flatnonzero(cube[i, :, k] == 1), rng)
        c = _one_of(np.flatnonzero(cube[i, j, :] == 1), rng)
        for cell in ((i, j, k), (i, b, c), (a, j, c), (a, b, k)):
            cube[cell] += 1
        for cell in ((a, j, k), (i, b, k), (i, j, c), (a, b, c)):
            cube[cell] -= 1
        improper = (a, b, c) if cube[a, b, c] < 0 else None
    return np.asarray(cube.argmax(axis=2), dtype=np.int64)


def _one_of(places: NDArray[np.int64], rng: Rng) -> int:
    return int(places[0] if len(places) == 1 else places[rng.integers(len(places))])


def _pigeonhole(rng: Rng) -> Formula:
    holes = int(rng.integers(9, 23))
    pigeons = holes + int(rng.integers(1, 3))
    return pigeonhole(holes=holes, pigeons=pigeons, functional=bool(rng.integers(2)))


def pigeonhole(*, holes: int, pigeons: int, functional: bool = False) -> Formula:
    """Return that every pigeon has a hole and no hole two pigeons; `functional`: and no pigeon two holes.

    With more pigeons than holes there is no model. Clause learning needs exponentially long proofs (Haken
    1985); one who can count needs a line.

    >>> pigeonhole(holes=1, pigeons=2).clauses()
    [[1], [2], [-1, -2]]
    """
    variable = np.arange(1, pigeons * holes + 1).reshape(pigeons, holes).tolist()
    clauses: list[tuple[int, ...]] = [tuple(row) for row in variable]
    for hole in zip(*variable, strict=True):
        clauses += _at_most_one(hole)
    if functional:
        for row in variable:
            clauses += _at_most_one(row)
    return Formula.of(clauses, pigeons * holes)


def _at_most_one(literals: Sequence[int]) -> list[tuple[int, ...]]:
    return [(-a, -b) for a, b in combinations(literals, 2)]


def tseitin(rng: Rng, *, vertices: int, degree: int, odd: bool = True) -> Formula:
    """Return a formula on a random regular graph; without a model if the sum of the charges is `odd`.

    The edges are variables, and each vertex says whether an odd number of its edges is true. Every edge is
    counted at two vertices, so if an odd number of vertices asks for an odd number, there is no model.
    Resolution needs exponentially long proofs on random regular graphs (Urquhart 1987); Gauss elimination
    modulo 2 sees it at once.
    """
    edges = regular_graph(rng, vertices=vertices, degree=degree)
    charges = rng.integers(0, 2, size=vertices)
    charges[0] ^= (int(charges.sum()) + odd) % 2
    clauses: list[list[int]] = []
    for vertex in range(vertices):
        around = [number + 1 for number, edge in enumerate(edges.tolist()) if vertex in edge]
        # A clause forbids that its negated edges are true and the others false: a wrong parity, each time.
        clauses += [
            [sign * edge for sign, edge in zip(signs, around, strict=True)]
            for signs in product((1, -1), repeat=degree)
            if signs.count(-1) % 2 != charges[vertex]
        ]
    return Formula.of(clauses, len(edges))


def regular_graph(rng: Rng, *, vertices: int, degree: int) -> NDArray[np.int64]:
    """Return the edges of a random regular graph without loops or double edges, shape (n, 2).

    By the pairing model: pair up `degree` copies of every vertex until no pair is a loop or comes twice.

    >>> edges = regular_graph(np.random.Generator(np.random.PCG64(0)), vertices=6, degree=3)
    >>> np.bincount(edges.ravel()).tolist()
    [3, 3, 3, 3, 3, 3]
    """
    if vertices * degree % 2 or vertices <= degree:
        raise ValueError("a regular graph needs more vertices than its degree and an even product of the two")
    copies = np.repeat(np.arange(vertices), degree)
    while True:
        edges = np.sort(rng.permutation(copies).reshape(-1, 2), axis=1)
        proper = bool((edges[:, 0] != edges[:, 1]).all())
        if proper and len(np.unique(edges[:, 0] * vertices + edges[:, 1])) == len(edges):
            return edges


def ordering(*, things: int) -> Formula:
    """Return the ordering principle, denied: a total order in which none is the smallest.

    It has a variable for every pair: the first comes before the second. Short proofs by resolution exist
    (Stålmarck 1996), but they must be found.

    >>> ordering(things=2).clauses()
    [[-1], [1]]
    """
    number = {pair: place for place, pair in enumerate(combinations(range(things), 2), start=1)}

    def before(a: int, b: int) -> int:
        return number[a, b] if a < b else -number[b, a]

    clauses = [[before(b, a) for b in range(things) if b != a] for a in range(things)]
    for a, b, c in permutations(range(things), 3):
        if a < b and a < c:  # each circle of three once in each direction
            clauses.append([-before(a, b), -before(b, c), -before(c, a)])
    return Formula.of(clauses, len(number))


def _factoring(rng: Rng) -> Formula:
    if rng.random() < 0.3:
        bits = int(rng.integers(23, 29))
        return factoring(random_prime(rng, 2 ** (bits - 1), 2**bits))
    half = 2 ** int(rng.integers(13, 18))
    return factoring(random_prime(rng, half // 2, half) * random_prime(rng, half // 2, half))


def factoring(number: int) -> Formula:
    """Return that `number` is a product of x and y, both above 1 and y of at most half its bits.

    A binary multiplier whose product is given: there is a model if the number is composite (and its factors
    fit), and none if it is prime.

    >>> factoring(15).n_variables
    17
    """
    if number < 4:
        raise ValueError("a number below 4 has no two factors above 1 to look for")
    size = number.bit_length()
    circuit = _Circuit()
    x = [circuit.wire() for _ in range(size - 1)]
    y = [circuit.wire() for _ in range((size + 1) // 2)]
    circuit.clauses += [x[1:], y[1:]]  # above 1
    columns: list[list[int]] = [[] for _ in range(size)]
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            if i + j < size:
                columns[i + j].append(circuit.conjunction(a, b))
            else:
                circuit.clauses.append([-a, -b])  # the product would have too many bits
    for place, column in enumerate(columns):
        while len(column) > 1:
            taken, column = column[:3], column[3:]
            parity, carry = circuit.sum_and_carry(taken)
            column.append(parity)
            if place + 1 < size:
                columns[place + 1].append(carry)
            else:
                circuit.clauses.append([-carry])
        bit = number >> place & 1
        circuit.clauses.append([column[0] if bit else -column[0]])
    return Formula.of(circuit.clauses, circuit.n)


class _Circuit:
    def __init__(self) -> None:
        self.clauses: list[list[int]] = []
        self.n = 0

    def wire(self) -> int:
        self.n += 1
        return self.n

    def conjunction(self, a: int, b: int) -> int:
        out = self.wire()
        self.clauses += [[-a, -b, out], [a, -out], [b, -out]]
        return out

    def sum_and_carry(self, bits: list[int]) -> tuple[int, int]:
        """Return the parity and the majority of three wires, or the parity and conjunction of two."""
        parity = self.wire()
        if len(bits) == 2:
            a, b = bits
            self.clauses += [[-a, -b, -parity], [a, b, -parity], [a, -b, parity], [-a, b, parity]]
            return parity, self.conjunction(a, b)
        a, b, c = bits
        carry = self.wire()
        for x, y, z in ((a, b, c), (a, -b, -c), (-a, b, -c), (-a, -b, c)):
            self.clauses += [[-x, -y, -z, parity], [x, y, z, -parity]]
        for x, y in ((a, b), (a, c), (b, c)):
            self.clauses += [[-x, -y, carry], [x, y, -carry]]
        return parity, carry


def random_prime(rng: Rng, low: int, high: int) -> int:
    while True:
        candidate = int(rng.integers(low, high))
        if is_prime(candidate):
            return candidate


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


# With an even sum of charges every solver is done with a Tseitin formula in milliseconds: only odd ones here.
_DRAWN: dict[str, Callable[[Rng], Formula]] = {
    "random3": _random3,
    "random5": lambda rng: uniform(rng, n=int(rng.integers(200, 401)), k=5, ratio=rng.uniform(18.0, 19.5)),
    "threshold": lambda rng: uniform(rng, n=int(rng.integers(200, 251)), k=3, ratio=4.26),
    "quasigroup": lambda rng: quasigroup(rng, order=int(rng.integers(26, 35)), holes=rng.uniform(0.41, 0.50)),
    "pigeonhole": _pigeonhole,
    "tseitin3": lambda rng: tseitin(rng, vertices=2 * int(rng.integers(30, 46)), degree=3),
    "tseitin4": lambda rng: tseitin(rng, vertices=int(rng.integers(26, 35)), degree=4),
    "ordering": lambda rng: ordering(things=int(rng.integers(24, 37))),
    "factoring": _factoring,
}
FAMILIES = {name: Family(draw, **domain_table("sat")["families"][name]) for name, draw in _DRAWN.items()}
"""Name of a family -> how to draw from it, what it is, and what kind of solver suits it."""
