"""The service under load: select and observe through HTTP, singly and in batches.

Two client processes with eight threads each keep one server busy, which has a core of its own, with K = 10
algorithms and d = 100 features; every answer is on disk before it is given. Afterwards the journal is
compared with what the clients got: nothing lost, nothing doubled, and repeating it gives the same
selector. The CPU time of the server per decision with its outcome is compared with that of a selector alone,
which decides and learns as many; on a busy machine only these two mean anything.

    python benchmarks/service.py [--seconds 60] [--selector NAME ...] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from itertools import cycle
from pathlib import Path
from typing import Any

for _library in ("OPENBLAS", "OMP", "MKL"):  # one core is one thread
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np

from tailcut import Selector
from tailcut.errors import ServiceError
from tailcut.journal import EventKind, Journal
from tailcut.service.client import Client, RemoteProject
from tailcut.types import Decision, Outcome

K, D, CUTOFF = 10, 100, 100.0
PROCESSES, THREADS, BATCH = 2, 8, 64
SEEDS = range(PROCESSES * THREADS)
"""One stream of instances per thread."""
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
LINE = (
    "{selector:14} batch {batch:3}: {pairs_per_second:7.0f} pairs/s, select p50 {select_p50_ms:6.1f} ms, "
    "p99 {select_p99_ms:6.1f} ms, server CPU {server_cpu_share:.0%}, {server_us:.0f} µs per pair, "
    "the selector alone {selector_us:.0f}"
)


class Stream:
    """Instances and how the runs on them go."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.features = rng.standard_normal((64, D)).tolist()
        self.runtimes = rng.exponential(60.0, 64).tolist()

    def outcome(self, number: int) -> Outcome:
        """Return how a run went."""
        seconds = self.runtimes[number & 63]
        return Outcome.solved(seconds) if seconds < CUTOFF else Outcome.censored(CUTOFF)


class Worker(threading.Thread):
    """Asks, pretends to run, and reports, until time is up."""

    def __init__(self, project: RemoteProject, seed: int, until: float, batch: int) -> None:
        super().__init__()
        self.project, self.until, self.batch = project, until, batch
        self.stream = Stream(seed)
        self.latencies: list[float] = []
        self.reported: list[int] = []
        self.errors: list[str] = []

    def run(self) -> None:
        """Work until time is up or something goes wrong."""
        try:
            step = 0
            while time.time() < self.until:
                if self.batch > 1:
                    self.several()
                else:
                    self.one(step & 63)
                step += 1
        except ServiceError as error:
            self.errors.append(str(error))

    def one(self, step: int) -> None:
        """Ask for one decision and report its outcome."""
        started = time.perf_counter()
        decision = self.project.select(self.stream.features[step])
        self.latencies.append(time.perf_counter() - started)
        self.project.observe(decision, self.stream.outcome(step))
        self.reported.append(decision.id)

    def several(self) -> None:
        """Ask for a batch and report all its outcomes."""
        started = time.perf_counter()
        features = self.stream.features[: self.batch]
        answers = self.project.select_batch([{"features": one} for one in features])
        self.latencies.append(time.perf_counter() - started)
        decisions = [one for one in answers if isinstance(one, Decision)]
        learned = self.project.observe_batch((one, self.stream.outcome(one.id)) for one in decisions)
        self.errors += [str(one) for one in [*answers, *learned] if isinstance(one, ServiceError)]
        self.reported += [one.id for one in decisions]


def client(address: str, token: str, name: str, seconds: float, batch: int, seed: int) -> None:
    """Run one client process and print what it saw."""
    project = Client(address, token, retries=0).project(name)
    until = time.time() + seconds
    workers = [Worker(project, one, until, batch) for one in SEEDS[seed::PROCESSES]]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lists = {
        field: [one for worker in workers for one in getattr(worker, field)]
        for field in ("latencies", "reported", "errors")
    }
    print(json.dumps(lists))


def measure(selector: str, batch: int, seconds: float, folder: Path, profile: bool) -> dict[str, Any]:
    """Serve for some seconds; return figures, or fail if anything was lost or doubled."""
    path = folder / f"{selector}-{batch}.db"
    command = [sys.executable, "-m", "tailcut", "serve", "--state", str(path), "--port", "0"]
    if profile:
        command[1:1] = ["-m", "cProfile", "-o", f"{selector}-{batch}.prof"]
    apart(first=True)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    apart(first=False)
    assert server.stdout is not None
    try:
        lines = [server.stdout.readline() for _ in range(3)]
        address, token = lines[0].split()[-1], lines[2].split()[-1]
        with Client(address, token) as admin:
            admin.create_project(
                "p", algorithms=[f"a{k}" for k in range(K)], cutoff=CUTOFF, selector=selector
            )
        before = _cpu_seconds(server.pid)
        seen = run_clients(address, token, seconds, batch)
        used = _cpu_seconds(server.pid) - before
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    check(path, seen)
    milliseconds = 1e3 * np.array(seen["latencies"])
    pairs = len(seen["reported"])
    return {
        "selector": selector,
        "batch": batch,
        "seconds": seconds,
        "pairs": pairs,
        "pairs_per_second": pairs / seconds,
        "select_p50_ms": float(np.percentile(milliseconds, 50)),
        "select_p99_ms": float(np.percentile(milliseconds, 99)),
        "server_cpu_share": used / seconds,
        "server_us": 1e6 * used / pairs,
        "selector_us": selector_alone(selector, batch, pairs),
    }


def selector_alone(name: str, batch: int, pairs: int) -> float:
    """Return the microseconds of CPU time that a selector takes per pair, without service and journal."""
    selector = Selector(name, [f"a{k}" for k in range(K)], CUTOFF)
    streams = cycle([Stream(seed) for seed in SEEDS])
    before = time.process_time()
    while selector.decisions < pairs:
        stream = next(streams)
        decisions = [selector.select(stream.features[selector.decisions & 63]) for _ in range(batch)]
        for decision in decisions:
            selector.observe(decision, stream.outcome(decision.id))
    return 1e6 * (time.process_time() - before) / selector.decisions


def apart(first: bool) -> None:
    """Let this process, and all that it starts, run on the first core, or on the others."""
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES[:1] if first else CORES[1:])


def run_clients(address: str, token: str, seconds: float, batch: int) -> dict[str, list[Any]]:
    """Let the client processes work; return all that they saw."""
    arguments = [address, token, "p", str(seconds), str(batch)]
    command = [sys.executable, __file__, "--client", *arguments]
    clients = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    answers = [json.loads(process.communicate(timeout=seconds + 120)[0]) for process in clients]
    return {field: [one for answer in answers for one in answer[field]] for field in answers[0]}


def check(path: Path, seen: dict[str, list[Any]]) -> None:
    """Compare the journal with what clients got."""
    assert not seen["errors"], seen["errors"][:3]
    with Journal(path) as journal:
        rows = journal.rows("SELECT kind, decision FROM events")
    made = [decision for kind, decision in rows if kind == EventKind.SELECT]
    observed = [decision for kind, decision in rows if kind == EventKind.OBSERVE]
    assert len(made) == len(set(made)), "a decision was made twice"
    assert len(observed) == len(set(observed)), "an outcome was taken twice"
    assert sorted(seen["reported"]) == sorted(observed), "an outcome was lost"
    assert set(seen["reported"]) <= set(made), "a decision was lost"
    verify = [sys.executable, "-m", "tailcut", "state", "verify", str(path)]
    subprocess.run(verify, check=True, stdout=subprocess.DEVNULL)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    user, system = re.sub(r"^.*\)", "", stat.read_text()).split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        address, token, name, seconds, batch, seed = sys.argv[2:]
        client(address, token, name, float(seconds), int(batch), int(seed))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--selector", action="append")
    parser.add_argument("--batch", action="append", type=int, help="1 is singly; repeat for more")
    parser.add_argument("--profile", action="store_true", help="write SELECTOR-BATCH.prof")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for selector in given.selector or ["tailcut", "thompson_rev"]:
            for batch in given.batch or [1, BATCH]:
                rows.append(measure(selector, batch, given.seconds, Path(folder), given.profile))
                if not given.json:
                    print(LINE.format(**rows[-1]), flush=True)
    if given.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
