"""Many calls of `tailcut solve` at once on one state file, some of them killed: what comes of that.

    python benchmarks/solve_at_once.py --instances 200 --at-once 10 --kill 3

Formulas are generated; the solvers are those of the extra `sat`. A model is checked against its formula, a
refutation by another solver. At the end the history is repeated bit for bit, and each decision must have one
outcome. Ends with code 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tailcut.domains.sat.answers import SatStatus, parse_output
from tailcut.domains.sat.cnf import read, satisfies
from tailcut.domains.sat.generators import write_stream
from tailcut.journal import EventKind, Journal, Project
from tailcut.live.stream import PROJECT


def called(path: Path, folder: Path, cutoff: float, kills: threading.Semaphore) -> tuple[str, bytes, int]:
    """Solve an instance; a call that takes longer is killed as long as `kills` lets it."""
    command = [sys.executable, "-m", "tailcut", "solve", "--domain", "sat", "--state", "s.db"]
    call = subprocess.Popen(
        [*command, "--cutoff", str(cutoff), str(path)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        output, _ = call.communicate(timeout=0.7)
    except subprocess.TimeoutExpired:
        mine = kills.acquire(blocking=False)
        if mine:
            call.kill()
        output, _ = call.communicate()
        if mine and call.returncode != -signal.SIGKILL:
            kills.release()  # it had just ended: another one is killed
    return str(path), output, call.returncode


def wrong(path: str, output: bytes, code: int) -> str | None:
    """Return what is wrong with an answer; None: nothing."""
    answer = parse_output(output.decode())
    if code != answer.status.exit_code:
        return f"{path}: exit code {code} with {answer.status}"
    satisfiable = answer.status is SatStatus.SATISFIABLE
    if satisfiable and (answer.model is None or not satisfies(read(path), answer.model)):
        return f"{path}: the model is none"
    if answer.status is SatStatus.UNSATISFIABLE:
        command = [sys.executable, "-m", "tailcut.domains.sat.solve", "cadical300", path]
        try:
            checked = subprocess.run(command, capture_output=True, timeout=30).returncode
        except subprocess.TimeoutExpired:
            return None
        if checked == SatStatus.SATISFIABLE.exit_code:
            return f"{path}: is satisfiable"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--kill", type=int, default=3)
    parser.add_argument("--cutoff", type=float, default=5.0)
    parser.add_argument("--families", nargs="*", default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_stream(folder / "f", count=given.instances, seed=1, families=given.families)
        paths = sorted((folder / "f").iterdir())
        random.Random(1).shuffle(paths)
        kills = threading.Semaphore(given.kill)
        began = time.perf_counter()
        with ThreadPoolExecutor(given.at_once) as threads:
            futures = [threads.submit(called, path, folder, given.cutoff, kills) for path in paths]
            answers = [future.result() for future in futures]
        seconds = time.perf_counter() - began
        stop = [sys.executable, "-m", "tailcut", "solve", "--state", "s.db", "--stop"]
        subprocess.run(stop, cwd=folder, check=True)
        killed = [path for path, _, code in answers if code == -9]
        codes = Counter(code for _, _, code in answers)
        mistakes = [found for one in answers if one[2] != -9 and (found := wrong(*one)) is not None]
        with Journal(folder / "s.db") as journal:
            project = Project(journal, PROJECT)
            events = project.verify()
            history = list(project.history())
            pending = len(project.statistics.pending)
        decisions = [
            event.body["decision"]["id"]
            for event in history
            if event.kind in (EventKind.SELECT, EventKind.PROCEED) and event.body["decision"] is not None
        ]
        outcomes = Counter(event.body["decision"] for event in history if event.kind is EventKind.OBSERVE)
        asked = Counter(event.body["instance"] for event in history if event.kind is EventKind.SELECT)
    print(
        f"{given.instances} instances, {given.at_once} at once, in {seconds:.0f} s: {codes[10]} satisfiable, "
        f"{codes[20]} unsatisfiable, {codes[0]} unknown, {len(killed)} killed, {len(mistakes)} wrong"
    )
    print(
        f"{events} events repeated bit for bit: {len(decisions)} decisions, {len(outcomes)} with an outcome, "
        f"{sum(outcomes.values()) - len(outcomes)} twice, {pending} waiting"
    )
    for mistake in mistakes:
        print(mistake)
    once = max(outcomes.values()) == 1 and set(outcomes) == set(decisions) and max(asked.values()) == 1
    served = len(asked) >= given.instances - len(killed)
    known = sum(codes[code] for code in (0, 10, 20)) + len(killed) == given.instances
    known &= len(killed) == given.kill
    sys.exit(0 if once and served and known and not mistakes and not pending else 1)


if __name__ == "__main__":
    main()
