"""What the journal can take: `python benchmarks/journal.py [--features 100] [--seconds 2] [--folder DIR]`.

Events of a live run at d features, appended one by one and in batches, each batch on disk before the next
begins. Then what a farm asks of one client: a whole `Project` step (decide, write, learn, write), and how
long opening a project takes with the most events behind its snapshot that there can be. DIR should be on the
disk that is to be judged; the system's folder for temporary files may be in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import tracemalloc
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tailcut.journal import EventKind, Journal, NewEvent, Project
from tailcut.journal.project import SNAPSHOT_EVERY
from tailcut.live.instance_record import read_records
from tailcut.types import Decision, Outcome, Request

ALGORITHMS = [f"solver-{number:02d}" for number in range(20)]
CUTOFF = 300.0
RUN = {"ending": "finished", "seconds": 12.345678, "cpu": 12.345678, "wall": 13.456789, "memory": 41943040}
NOTE = {**RUN, "exit_code": 10, "signal": None, "answer": "SATISFIABLE"}
"""What `tailcut run` notes of a run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each row")
    parser.add_argument("--folder", type=Path, default=None, help="where the journals are written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        appends(Path(folder), options.features, options.seconds)
        for name in ("thompson_rev", "tailcut"):
            steps(Path(folder) / f"{name}.db", name, options.features)


def appends(folder: Path, n_features: int, seconds: float) -> None:
    """Print rates of appending and the size of an event."""
    features = np.random.default_rng(0).standard_normal(n_features).tolist()
    request = Request(features, instance="formulas/tseitin3-000017.cnf", feature_cost=0.004)
    scores = dict.fromkeys(ALGORITHMS, 0.123456789)
    decision = Decision(
        123456, request.instance, "solver-07", CUTOFF, CUTOFF, scores, "lowest score", spent=0.004
    )
    made = {"decision": decision.to_dict(), "learned": 123400}
    select = {**request.to_dict(), **made, "note": {"feature_seconds": 0.004}}
    observe = {"decision": 123456, "status": "solved", "time": 12.345678, "note": NOTE}
    print(f"An event of a decision at d = {n_features} is {len(json.dumps(select))} bytes of JSON, ", end="")
    print(f"that of an outcome {len(json.dumps(observe))}.\n")
    print("| events at once | events per second | median ms | 99th percentile ms | CPU µs per event |")
    print("|---:|---:|---:|---:|---:|", flush=True)
    for batch in (1, 10, 100, 1000):
        with Journal(folder / f"batch-{batch}.db") as journal:
            project = journal.create("farm", {})
            pair = [NewEvent(EventKind.SELECT, select), NewEvent(EventKind.OBSERVE, observe)]
            events = (pair * (batch // 2 + 1))[:batch]
            times: list[float] = []
            processor, until = time.process_time(), time.perf_counter() + seconds
            while time.perf_counter() < until:
                started = time.perf_counter()
                journal.append(project, events)
                times.append(time.perf_counter() - started)
            used = 1e6 * (time.process_time() - processor) / (batch * len(times))
        median, high = 1e3 * np.median(times), 1e3 * np.quantile(times, 0.99)
        rate = batch * len(times) / sum(times)
        print(f"| {batch} | {rate:.0f} | {median:.2f} | {high:.2f} | {used:.0f} |", flush=True)


def steps(path: Path, name: str, n_features: int) -> None:
    """Print what a decision with its outcome takes, journal included, and what opening the project takes."""
    rng = np.random.default_rng(0)
    settings = {"selector": name, "algorithms": ALGORITHMS, "cutoff": CUTOFF}
    names = [f"feature_{number}" for number in range(n_features)]
    # Two events each: one snapshot, and nearly as many events behind it as can be.
    count = SNAPSHOT_EVERY - 10
    with Journal(path) as journal:
        project = Project.create(journal, "farm", settings)
        started, processor = time.perf_counter(), time.process_time()
        for number in range(count):
            features = dict(zip(names, rng.standard_normal(n_features).tolist(), strict=True))
            decision = project.select(features, instance=f"i{number}")
            runtime = float(rng.exponential(200.0))
            outcome = Outcome.solved(runtime) if runtime < CUTOFF else Outcome.censored(CUTOFF)
            project.observe(decision, outcome, note=NOTE)
        wall, processor = time.perf_counter() - started, time.process_time() - processor
    size = path.stat().st_size
    with Journal(path) as journal:
        started = time.process_time()
        project = Project(journal, "farm")
        opening = time.process_time() - started
        snapshot = len(project.selector.to_bytes())
        tracemalloc.start()
        records = read_records(project.history(), schedules=False)
        held = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.stop()
        started = time.process_time()
        read_records(project.history(), schedules=False)
        reading = time.process_time() - started
        assert len(records) == count
    print(
        f"\n{name}, K = {len(ALGORITHMS)}, d = {n_features}: a decision with its outcome takes "
        f"{1e3 * wall / count:.2f} ms ({1e3 * processor / count:.2f} ms of CPU), {size / count:.0f} bytes; "
        f"a snapshot has {snapshot / 2**20:.1f} MiB; opening it takes {opening:.1f} s of CPU. `tailcut run` "
        f"reads its history when it continues: {1e6 * reading / count:.0f} µs of CPU, {held:.0f} bytes per "
        "instance."
    )


if __name__ == "__main__":
    main()
