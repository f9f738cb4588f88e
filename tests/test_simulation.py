"""A simulation: clients, a journal, crashes and a clock in one process, all of one seed.

Clients select, run for some simulated seconds, observe, and proceed; requests that arrive together share a
transaction, which may fail. Answers get lost, so clients repeat requests with the same keys. The process
crashes: what the files hold at that moment is copied and opened again, within a transaction, before or after
it. A plain `Selector` in memory takes every step that was committed: the decisions and, in the end, every bit
must agree.

`simulate(seed)` repeats the seed that a failure names.
"""

from __future__ import annotations

import heapq
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tailcut import Selector
from tailcut.journal import EventKind, Journal, Project, file, project
from tailcut.types import Decision, Outcome

SELECTORS = ("thompson_rev", "round_robin", "bj_thompson_rev", "thompson")
CUTOFF = 60.0


class Crash(BaseException):
    """The process is gone."""


class Unsynced(sqlite3.Connection):
    """A database that waits for no disk: a process that is gone loses nothing that it has written."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return super().execute(statement.replace("synchronous = FULL", "synchronous = OFF"), *values)


def unsynced(path: Path, mode: str, opened: ExitStack) -> sqlite3.Connection:
    where = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(where, uri=True, isolation_level=None, factory=Unsynced)
    return opened.enter_context(closing(db))


def fail() -> None:
    raise OSError("the disk refuses")


class World:
    def __init__(self, seed: int, folder: Path) -> None:
        self.chance, self.folder, self.life = random.Random(seed), folder, 0
        self.now = 1e9
        self.settings: dict[str, Any] = {
            "selector": self.chance.choice(SELECTORS),
            "algorithms": ["a", "b", "c"],
            "cutoff": CUTOFF,
            "seed": seed,
        }
        self.mirror = Selector(
            self.settings["selector"], self.settings["algorithms"], CUTOFF, seed=seed, max_pending=10_000
        )
        self.queue: list[tuple[float, int, dict[str, Any]]] = []
        """When each request arrives."""
        self.count = 0
        self.answers: dict[str, dict[str, Any] | None] = {}
        """What was decided, by the request."""
        self.every = self.chance.choice([3, 10, 1000])
        self.journal = Journal(self.path)
        self.open(Project.create(self.journal, "p", self.settings))
        for client in range(self.chance.randint(1, 3)):
            self.send({"step": "select", "name": f"{client}.0", "left": self.chance.randint(0, 3)})

    @property
    def path(self) -> Path:
        return self.folder / f"{self.life}.db"

    def open(self, opened: Project) -> None:
        self.project = opened
        opened.snapshot_every = self.every

    def send(self, request: dict[str, Any], seconds: float = 0.0) -> None:
        self.count += 1
        delay = seconds + self.chance.choice([0.0, 0.0, self.chance.expovariate(1.0)])
        heapq.heappush(self.queue, (self.now + delay, self.count, request))

    def end_here(self) -> None:
        """Copy what the files hold, and end."""
        before, self.life = self.path, self.life + 1
        for part in ("", "-wal"):
            if before.with_name(before.name + part).exists():
                shutil.copy(before.with_name(before.name + part), self.path.with_name(self.path.name + part))
        raise Crash

    def crash(self) -> None:
        with suppress(Crash):
            self.end_here()
        self.go_on_with_copy()

    def go_on_with_copy(self) -> None:
        self.journal.close()
        self.journal = Journal(self.path)
        self.open(Project(self.journal, "p"))

    def run(self) -> None:
        while self.queue:
            self.now = max(self.now, self.queue[0][0])
            group = list[dict[str, Any]]()
            while self.queue and self.queue[0][0] <= self.now and len(group) < 3:
                group.append(heapq.heappop(self.queue)[2])
            self.serve(group)
        self.check()

    def serve(self, group: list[dict[str, Any]]) -> None:
        fate = self.chance.random()
        results: list[Any] = []
        try:
            with self.journal.together():
                for request in group:
                    results.append(self.step(request))
                    if fate < 0.04:
                        self.end_here()
                if fate < 0.08:
                    self.end_here()
                if fate < 0.12:
                    fail()
        except (Crash, OSError) as error:
            if isinstance(error, Crash):
                self.go_on_with_copy()
            for request in group:
                self.send(request, 1.0)
            return
        for request, result in zip(group, results, strict=True):
            self.commit(request, result)
        if fate > 0.94:
            self.crash()
        for request, result in zip(group, results, strict=True):
            if fate > 0.94 or self.chance.random() < 0.1:
                self.send(request, 1.0)  # the answer is lost
            else:
                self.go_on(request, result)

    def step(self, request: dict[str, Any]) -> Any:
        name = request["name"]
        if request["step"] == "select":
            return self.project.select(self.features(name), instance=name, key=name)
        if request["step"] == "observe":
            return self.project.observe(request["decision"], self.outcome(request))
        return self.project.proceed_again(request["decision"])[0]

    def features(self, name: str) -> list[float]:
        chance = random.Random(name)
        return [chance.gauss(0.0, 1.0) for _ in range(3)]

    def outcome(self, request: dict[str, Any]) -> Outcome:
        seconds = random.Random(f"{request['name']} {request['algorithm']}").expovariate(1 / 40)
        return Outcome.solved(seconds) if seconds < request["budget"] else Outcome.censored(request["budget"])

    def commit(self, request: dict[str, Any], result: Any) -> None:
        """Let the selector in memory take a step for the first time, or compare with what it was."""
        what = f"{request['step']} {request['name']} {request.get('decision')}"
        told = result.to_dict() if isinstance(result, Decision) else None
        if what not in self.answers:
            if request["step"] == "select":
                own = self.mirror.select(self.features(request["name"]), instance=request["name"])
                self.answers[what] = own.to_dict()
            elif request["step"] == "observe":
                assert self.mirror.observe(request["decision"], self.outcome(request)) == result
                self.answers[what] = None
            else:
                following = self.mirror.proceed(request["decision"])
                self.answers[what] = None if following is None else following.to_dict()
        elif request["step"] == "observe":
            assert result is False
        assert self.answers[what] == told, f"{what}: {told}, in memory {self.answers[what]}"

    def go_on(self, request: dict[str, Any], result: Any) -> None:
        following = dict(request)
        if request["step"] != "observe" and result is not None:
            following |= {"decision": result.id, "algorithm": result.algorithm, "budget": result.budget}
            self.send({**following, "step": "observe"}, result.budget * self.chance.random())
        elif request["step"] == "observe" and self.mirror.schedules and not self.outcome(request).answered:
            self.send({**following, "step": "proceed"})
        elif request["left"]:
            client, number = request["name"].split(".")
            name = f"{client}.{int(number) + 1}"
            self.send({"step": "select", "name": name, "left": request["left"] - 1})

    def check(self) -> None:
        if self.chance.random() < 0.5:
            self.crash()
        assert self.project.selector.to_bytes() == self.mirror.to_bytes()
        history = list(self.project.history())
        assert self.project.verify() == len(history)
        keys = Counter(event.key for event in history if event.kind is EventKind.SELECT)
        assert set(keys.values()) == {1}
        times = [event.at for event in history]
        assert times == sorted(times)
        self.journal.close()


def simulate(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file, "connect", unsynced)
        world = World(seed, Path(folder))
        patch.setattr(project, "time", SimpleNamespace(time=lambda: world.now))
        patch.setattr(file, "PIECE", random.Random(seed).choice([100, 1 << 18]))
        try:
            world.run()
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        finally:
            world.journal.close()


@pytest.mark.parametrize("begin", range(0, 1000, 250))
def test_a_thousand_seeds(begin: int) -> None:
    for seed in range(begin, begin + 250):
        simulate(seed)


@pytest.mark.release
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("begin", range(1000, 20_000, 1000))
def test_many_seeds(begin: int) -> None:
    for seed in range(begin, begin + 1000):
        simulate(seed)
