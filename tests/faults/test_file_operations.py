"""The n-th operation on the state file fails, for every n; and the power goes off, at any moment."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.shim import Shim
from tests.faults.worker import Steps

ROOT = Path(__file__).parents[2]


def worker(shim: Shim, *arguments: str | Path) -> str:
    environment = shim.in_environment() | {"PYTHONPATH": str(ROOT)}
    del environment["TAILCUT_FAULT_AT"]  # it calls the shim itself
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.worker", *map(str, arguments)],
        env=environment,
        text=True,
        capture_output=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


@pytest.mark.parametrize("kind", ["once", "forever"])
def test_the_nth_call_fails(tmp_path: Path, kind: str) -> None:
    """Nothing acknowledged is lost or doubled, errors are Tailcut's, and the file is sound afterwards."""
    shim = Shim(tmp_path, tmp_path / "state")
    assert int(worker(shim, kind, tmp_path)) > 30


class Operation(NamedTuple):
    kind: str
    path: Path
    at: int
    data: bytes


def recorded(file: Path) -> Iterator[Operation]:
    with file.open("rb") as stream:
        while line := stream.readline():
            kind, path, at, size = line.decode().split()
            yield Operation(kind, Path(path), int(at), stream.read(int(size)) if kind == "w" else b"")


class Disk:
    """Files as they are, and as they were when they were last synced."""

    def __init__(self) -> None:
        self.durable: dict[Path, bytes] = {}
        self.later: dict[Path, list[Operation]] = {}
        """What came after, in order."""
        self.named: set[Path] = set()
        """Files whose names are durable."""
        self.acknowledged: list[str] = []

    def take(self, operation: Operation) -> None:
        kind, path = operation.kind, operation.path
        if path.name.endswith("-acknowledged"):
            self.acknowledged += operation.data.decode().split()
        elif kind == "s":
            self.durable[path] = after(self.durable.get(path, b""), self.later.pop(path, []))
        elif kind == "d":
            self.named |= self.durable.keys() | self.later.keys()
            for gone in [one for one in self.named if any(o.kind == "u" for o in self.later.get(one, ()))]:
                kinds = [one.kind for one in self.later[gone]]
                self.later[gone] = self.later[gone][len(kinds) - kinds[::-1].index("u") :]
                self.durable.pop(gone, None)
                if not self.later[gone]:
                    self.named.remove(gone)
        else:
            self.later.setdefault(path, []).append(operation)

    def without_power(self, folder: Path, chance: random.Random) -> None:
        """Write the files as they may be after the power went off now: of later writes some, or parts."""
        share = chance.choice([0.0, 0.5, 0.9, 1.0])
        for path in self.named:
            kept = []
            for operation in self.later.get(path, []):
                if chance.random() < share:
                    kept.append(operation)
                elif operation.kind == "w" and chance.random() < 0.5:
                    torn = chance.randrange(0, len(operation.data) + 1, 512)
                    kept.append(operation._replace(data=operation.data[:torn]))
            content = after(self.durable.get(path, b""), kept)
            if not (kept and kept[-1].kind == "u"):
                (folder / path.name).write_bytes(content)


def after(content: bytes, operations: list[Operation]) -> bytes:
    held = bytearray(content)
    for operation in operations:
        if operation.kind == "w":
            held.extend(bytes(max(0, operation.at - len(held))))
            held[operation.at : operation.at + len(operation.data)] = operation.data
        elif operation.kind in "tu":
            size = operation.at if operation.kind == "t" else 0
            held = held[:size].ljust(size, b"\0")
    return bytes(held)


def check_power_loss(tmp_path: Path, seed: int, moments: int) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    worker(Shim(tmp_path, folder / "state.db"), "record", folder, tmp_path / "record", str(seed))
    operations = list(recorded(tmp_path / "record"))
    assert {operation.kind for operation in operations} >= set("wsodu")
    chance, disk = random.Random(seed), Disk()
    chosen = set(chance.sample(range(len(operations)), min(moments, len(operations))))
    for number, operation in enumerate(operations):
        disk.take(operation)
        if number in chosen:
            again = tmp_path / f"again{number}"
            again.mkdir()
            disk.without_power(again, chance)
            steps = Steps(exact=False)
            steps.done = list(disk.acknowledged)
            try:
                steps.check(again / "state.db")
            except BaseException as error:
                words = f"seed {seed}, operation {number}: {type(error).__name__}: {error}"
                raise AssertionError(words) from error
    assert len(disk.acknowledged) == 36


def test_power_loss_loses_nothing_acknowledged(tmp_path: Path) -> None:
    check_power_loss(tmp_path, seed=1, moments=150)


@pytest.mark.release
@pytest.mark.parametrize("seed", range(10, 30))
def test_power_loss_at_every_moment(tmp_path: Path, seed: int) -> None:
    check_power_loss(tmp_path, seed, moments=1_000_000)
