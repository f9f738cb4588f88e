"""Checks what a solver claims, `main([FILE, OUTPUT, ANSWER, CLAIMS])`: exit code 0 confirms it, 1 refutes it.

Bounds, whole numbers, rows and the objective are checked. That no solution is better, or that there is none,
cannot be checked at this price. But each solution that was checked is a line of the file CLAIMS, and a claim
that one of these lines proves wrong is refuted.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

import mps
from solution import parse

TOLERANCE = 1e-5
"""Relative to the size of what is compared: solvers calculate with floating-point numbers."""


def main(arguments: list[str]) -> int | str:
    """Check the output of a solver; a sentence returned is a refutation."""
    instance, output, claims = Path(arguments[0]), Path(arguments[1]), Path(arguments[3])
    if arguments[2] == "infeasible":
        return worse_than_known(fingerprint(instance), np.inf, claims) or 0
    program = mps.read(instance)
    try:
        claimed, values = parse(output.read_text(encoding="utf-8"))
    except ValueError as error:
        return f"cannot be read: {error}"
    if not values.keys() <= set(program.names):
        return f"there is no variable {min(values.keys() - set(program.names))}"
    x = np.array([values.get(name, 0.0) for name in program.names])
    wrong = fault(program, x, claimed)
    if wrong is None:
        wrong = worse_than_known(fingerprint(instance), claimed, claims)
    if wrong is not None:
        return wrong
    remember(fingerprint(instance), claimed, claims)
    return 0


def fingerprint(instance: Path) -> str:
    """Return a name that no other program has, even if its file is called the same."""
    return f"{instance.name}:{hashlib.sha256(instance.read_bytes()).hexdigest()[:12]}"


def fault(program: mps.Program, x: mps.Floats, claimed: float) -> str | None:
    """Return what is wrong with a solution and its claimed objective, None if nothing is."""
    if not np.isfinite([*x, claimed]).all():
        return "every value and the objective must be a finite number"
    outside = np.maximum(-x, x - program.upper) > TOLERANCE * (1 + np.abs(x))
    if outside.any():
        return f"{program.names[outside.argmax()]} is out of its bounds"
    broken = program.whole & (np.abs(x - x.round()) > TOLERANCE)
    if broken.any():
        return f"{program.names[broken.argmax()]} must be a whole number"
    too_much = program.activity(x) - program.sides
    sense = np.array(program.senses)
    violation = np.where(sense == "E", np.abs(too_much), np.where(sense == "L", too_much, -too_much))
    if (violation > TOLERANCE * (1 + np.abs(program.sides))).any():
        return f"row {violation.argmax()} is violated by {violation.max():g}"
    objective = float(program.cost @ x)
    if abs(objective - claimed) > TOLERANCE * (1 + abs(objective)):
        return f"the objective is {objective:.8g}, not {claimed:.8g}"
    return None


def worse_than_known(name: str, claimed: float, claims: Path) -> str | None:
    """Return a refutation if a solution that was checked before is better, None if there is none."""
    lines = claims.read_text(encoding="utf-8").splitlines() if claims.exists() else []
    known = [float(line.split()[1]) for line in lines if line.split()[0] == name]
    if known and claimed > min(known) + TOLERANCE * (1 + abs(min(known))):
        return f"{claimed:.8g} is not the optimum: {min(known):.8g} was found before"
    return None


def remember(name: str, claimed: float, claims: Path) -> None:
    """Append a confirmed claim; a single small write, so that lines of several runs cannot mix."""
    file = os.open(claims, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{name} {claimed:.4f}\n".encode())
    os.close(file)
