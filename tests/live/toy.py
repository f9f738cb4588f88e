"""A toy domain for tests: an instance file says how long each solver takes; solvers really burn that time.

A line of an instance reads `solver seconds answer`; a solver without a line burns on without end. Every
start and every answer is logged, so that a test can see what was run.
"""

from __future__ import annotations

import sys
from pathlib import Path

SOLVER = """
import os, sys, time
name, path, log = sys.argv[1:]
def note(word):
    with open(log, "a") as file:
        file.write(f"{word} {name} {os.path.basename(path)}\\n")
lines = [line.split() for line in open(path) if line.strip()]
own = [line for line in lines if line[0] == name]
note("start")
limit = float(own[0][1]) if own else float("inf")
while time.process_time() < limit:
    pass
answer = own[0][2]
if answer == "crash":
    os.abort()
print("answer", answer, flush=True)
note("answer")
"""

FEATURES = """
import json, sys
lines = [line.split() for line in open(sys.argv[1]) if line.strip()]
if any(line[0] == "broken" for line in lines):
    sys.exit("no features today")
print(json.dumps({"size": len(lines), "first": float(lines[0][1]) if lines else None}))
"""

VERIFY = """
import sys
if "wrong" in open(sys.argv[2]).read():
    sys.exit("that is wrong")
"""


def write_portfolio(
    folder: Path, solvers: tuple[str, ...] = ("a", "b"), top: str = "", features: bool = True
) -> Path:
    """Write the programs and a portfolio file; return the file."""
    for name, text in (("solver.py", SOLVER), ("features.py", FEATURES), ("verify.py", VERIFY)):
        (folder / name).write_text(text)
    python = [sys.executable, "-I", "-S"]
    lines = [
        top,
        *([] if features else ["features = false"]),
        'instances = ["*.toy"]',
        "[answers.yes]",
        "pattern = '^answer yes$'",
    ]
    lines += ["[answers.no]", "pattern = '^answer no$'", "[answers.wrong]", "pattern = '^answer wrong$'"]
    lines += ["[verify]", f"command = {[*python, 'verify.py', '{instance}', '{output}']}"]
    if features:
        lines += ["[features]", f"command = {[*python, 'features.py', '{instance}']}"]
    for solver in solvers:
        command = [*python, "solver.py", solver, "{instance}", str(folder / "log.txt")]
        lines += [f"[solvers.{solver}]", f"command = {command}"]
    path = folder / "portfolio.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_instances(folder: Path, texts: dict[str, str]) -> Path:
    """Write instance files into a folder of their own and return it."""
    target = folder / "instances"
    target.mkdir(exist_ok=True)
    for name, text in texts.items():
        (target / f"{name}.toy").write_text(text)
    return target


def log(folder: Path) -> list[list[str]]:
    """Return what the solvers noted: word, solver, instance."""
    path = folder / "log.txt"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []
