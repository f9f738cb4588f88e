"""Factoring: a binary multiplier whose product is given; a model is a pair of factors.

Neither factor is 1: the number has a model if it is composite (and its factors fit), and none if prime.
"""

from __future__ import annotations

import numpy as np

from tailcut.domains.sat.formula import Formula


class _Circuit:
    """Gates as clauses; a wire is a variable."""

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


def factoring(number: int) -> Formula:
    """Return that `number` is a product of x and y, both above 1 and y of at most half its bits.

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


def random_prime(rng: np.random.Generator, low: int, high: int) -> int:
    """Return a random prime in [low, high): there must be one."""
    while True:
        candidate = int(rng.integers(low, high))
        if is_prime(candidate):
            return candidate


def is_prime(number: int) -> bool:
    """Say whether a number is prime, by trial division.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
