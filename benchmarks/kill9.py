"""Kill the server in the middle of its work, again and again, and see that nothing it said is lost.

    python benchmarks/kill9.py [--moments 100] [--seed 0]

Each time: a server starts on the same file, clients ask and report with all their might, and at a random
moment the server is killed with SIGKILL. Then the file is opened, and must hold everything that was
acknowledged, each once; repeating it must give the same selector, bit for bit. Requests without a response
are sent again to the next server, and must have happened once.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tailcut.errors import ServiceError
from tailcut.journal import EventKind, Journal, Tokens, upkeep
from tailcut.service.client import Client, RemoteProject
from tailcut.types import Decision, Outcome

SELECTORS = {"p": "tailcut", "q": "thompson_rev"}
SNAPSHOT_EVERY = 150


class Clients:
    """What the clients got so far, and what they do not know."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.decided: dict[tuple[str, str], int] = {}
        """Project and key -> the decision that was acknowledged."""
        self.observed: set[tuple[str, int]] = set()
        """Outcomes that were acknowledged."""
        self.unsure: list[tuple[str, str]] = []
        """Requests whose answer did not come."""
        self.faults: list[str] = []
        """What went wrong although the server lived."""
        self.next_key = 0

    def key(self) -> str:
        """Return a new key."""
        with self.lock:
            self.next_key += 1
            return f"k{self.next_key}"

    def work(self, project: RemoteProject, chance: random.Random) -> None:
        """Ask and report until the server does not answer any more."""
        try:
            while True:
                count = chance.choice([1, 1, 1, 5])
                decisions = self.ask(project, [self.key() for _ in range(count)])
                outcomes = [(one, Outcome.solved(1.0 + one.id % 50)) for one in decisions]
                if count == 1:
                    project.observe(*outcomes[0])
                else:
                    project.observe_batch(outcomes)
                with self.lock:
                    self.observed |= {(project.name, one.id) for one in decisions}
        except ServiceError as error:
            if error.status is not None:  # an answer, and not the expected one
                self.faults.append(str(error))

    def ask(self, project: RemoteProject, keys: list[str]) -> list[Decision]:
        """Ask for decisions under these keys; what stays unanswered is remembered."""
        requests = [{"features": [float(len(key)), float(key[1:])], "key": key} for key in keys]
        try:
            if len(keys) == 1:
                decisions = [project.select(**requests[0])]  # type: ignore[arg-type]
            else:
                decisions = [one for one in project.select_batch(requests) if isinstance(one, Decision)]
        except ServiceError:
            with self.lock:
                self.unsure += [(project.name, key) for key in keys]
            raise
        with self.lock:
            for key, one in zip(keys, decisions, strict=True):
                if self.decided.setdefault((project.name, key), one.id) != one.id:
                    self.faults.append(f"{key} was answered twice, and not alike")
        return decisions

    def ask_again(self, client: Client) -> None:
        """Send again what stayed unanswered."""
        waiting, self.unsure = self.unsure, []
        for name, key in waiting:
            self.ask(client.project(name), [key])


def one_moment(path: Path, clients: Clients, chance: random.Random) -> float:
    """Start, load and kill a server; return after how many seconds."""
    server, client = start(path)
    try:
        for name, selector in SELECTORS.items():
            client.create_project(name, algorithms=["a", "b", "c"], cutoff=60.0, selector=selector)
        clients.ask_again(client)
        threads = [
            threading.Thread(target=clients.work, args=(client.project(name), random.Random(chance.random())))
            for name in [*SELECTORS, *SELECTORS]
        ]
        for thread in threads:
            thread.start()
        moment = chance.uniform(0.0, 0.6)
        time.sleep(moment)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    for thread in threads:
        thread.join()
    client.close()
    return moment


def start(path: Path) -> tuple[subprocess.Popen[str], Client]:
    """Return a server that answers, and a client for it."""
    options = ["--state", str(path), "--port", "0", "--snapshot-every", str(SNAPSHOT_EVERY)]
    command = [sys.executable, "-m", "tailcut", "serve", *options, "--log-level", "warning"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split()[-1]
    token = Tokens(path).create(f"t{time.time_ns()}", ["read", "write"])
    time.sleep(0.15)  # until the server reads the tokens again
    server.stdout.close()
    return server, Client(address, token, retries=0)


def check(path: Path, clients: Clients) -> int:
    """Compare the file with what clients got; return how many events there are."""
    assert not clients.faults, clients.faults[:3]
    with Journal(path) as journal:
        assert journal.rows("PRAGMA integrity_check") == [("ok",)]
        names = {number: name for name, number in journal.projects().items()}
        rows = journal.rows("SELECT project, kind, key, decision FROM events")
        made = [(names[project], key) for project, kind, key, _ in rows if kind == EventKind.SELECT]
        decided = {(names[project], key): decision for project, _, key, decision in rows if key}
        observed = Counter(
            (names[project], decision) for project, kind, _, decision in rows if kind == EventKind.OBSERVE
        )
        assert len(made) == len(set(made)), "a request happened twice"
        assert max(observed.values(), default=1) == 1, "an outcome was taken twice"
        assert clients.decided.items() <= decided.items(), "an acknowledged decision is lost"
        assert clients.observed <= observed.keys(), "an acknowledged outcome is lost"
        problems = [one for one in upkeep.verify(journal) if one.problem]
        assert not problems, problems
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, clients = random.Random(given.seed), Clients()
    summary: dict[str, Any] = {"moments": 0, "resent": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        for _ in range(given.moments):
            summary["resent"] += len(clients.unsure)
            one_moment(path, clients, chance)
            summary["events"] = check(path, clients)
            summary["moments"] += 1
            sys.stderr.write(f"\r{summary['moments']} of {given.moments}")
    summary |= {
        "acknowledged_decisions": len(clients.decided),
        "acknowledged_outcomes": len(clients.observed),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
