"""A benchmark whose disk is full or broken, whose results are damaged, on a system without shared memory."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailcut.bench.benchmark import benchmark, run_quality
from tailcut.bench.plan import Contender
from tailcut.bench.store import opened
from tailcut.errors import InputError
from tests.bench.result_files import content_of
from tests.bench.test_quality import write as write_quality

CONTENDERS = [Contender.of(name) for name in ("random", "sbs", "round_robin")]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library that makes calls of the system fail (failing_calls.c)."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("shim") / "failing_calls.so"
    source = Path(__file__).parents[1] / "failing_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


@pytest.fixture
def straight(generated: Path, tmp_path: Path) -> dict[str, Any]:
    """What a result file holds if nothing fails."""
    benchmark(generated, scenarios=["ALPHA"], contenders=CONTENDERS, seeds=3).run(tmp_path / "straight.db")
    return content_of(tmp_path / "straight.db")


def _bench(folder: Path, out: Path, jobs: int = 1, **started: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailcut", "bench", "--aslib", str(folder), "--scenario", "ALPHA"]
    command += [word for one in CONTENDERS for word in ("--selector", one.label)]
    command += ["--seeds", "3", "--jobs", str(jobs), "--json", "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **started)


def _failed_cleanly(done: subprocess.CompletedProcess[str], out: Path) -> None:
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tailcut: {out}: cannot be "), line
    assert done.stdout == ""


def _goes_on(generated: Path, out: Path, straight: dict[str, Any]) -> None:
    """What is in the file is right, and the same command completes it."""
    if out.exists():
        with opened(out) as store:
            kept = store.done()
        assert {one: content_of(out)[one] for one in kept} == {one: straight[one] for one in kept}
    benchmark(generated, scenarios=["ALPHA"], contenders=CONTENDERS, seeds=3).run(out)
    assert content_of(out) == straight


@pytest.mark.parametrize(
    ("number", "first"),
    [(errno.ENOSPC, 1), (errno.EIO, 60), (errno.ENOSPC, 75), (errno.EIO, 85)],
)
def test_a_full_or_broken_disk_is_one_line(
    number: int, first: int, generated: Path, tmp_path: Path, shim: str, straight: dict[str, Any]
) -> None:
    """From the nth write to the result file on, all fail."""
    out = tmp_path / "r.db"
    faults = {"LD_PRELOAD": shim, "FAIL_PATH": str(out), "FAIL_FROM": str(first), "FAIL_ERRNO": str(number)}
    _failed_cleanly(_bench(generated, out, env={**os.environ, **faults}), out)
    _goes_on(generated, out, straight)


def test_a_limit_on_the_size_of_files_is_one_line(
    generated: Path, tmp_path: Path, straight: dict[str, Any]
) -> None:
    out = tmp_path / "r.db"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    _failed_cleanly(_bench(generated, out, jobs=2, preexec_fn=limit), out)
    with opened(out) as store:
        assert store.done(), "completed cells are kept"
    _goes_on(generated, out, straight)


@pytest.mark.parametrize("form", ["--json", "--learn-on"])
def test_output_that_cannot_be_written_is_one_line(form: str, generated: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailcut", "bench", "--aslib", str(generated), "--scenario", "ALPHA"]
    command += ["--selector", "random", "--protocol", "cv", "--folds", "4", form, "--seeds", "1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--jobs", "1", "--out", str(tmp_path / "r.db")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "tailcut: output: No space left on device\n")
    with opened(tmp_path / "r.db") as store:
        assert store.done(), "completed cells are kept"


def test_several_processes_need_no_shared_memory(
    generated: Path, tmp_path: Path, shim: str, straight: dict[str, Any]
) -> None:
    out = tmp_path / "r.db"
    done = _bench(generated, out, jobs=2, env={**os.environ, "LD_PRELOAD": shim})
    assert (done.returncode, done.stderr) == (0, "")
    assert {row["selector"] for row in json.loads(done.stdout)} == {one.label for one in CONTENDERS}
    assert content_of(out) == straight


def _each_page_damaged(path: Path, damaged: Path, use: Callable[[], object]) -> list[str]:
    """Return the errors when a page is zeroed, or written with noise or the page before, each in turn."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    whole, refused = path.read_bytes(), []
    for start in range(0, len(whole), size):
        before = whole[max(0, start - size) :][:size]
        for page in (bytes(size), random.Random(start).randbytes(size), before):
            damaged.write_bytes(whole[:start] + page + whole[start + size :])
            for rest in ("-wal", "-shm"):
                Path(f"{damaged}{rest}").unlink(missing_ok=True)
            try:
                use()
            except InputError as error:
                refused.append(str(error))
    return refused


def test_damaged_pages_are_an_error_that_names_the_file_or_do_not_matter(
    generated: Path, tmp_path: Path
) -> None:
    first, damaged = tmp_path / "first.db", tmp_path / "damaged.db"
    planned = benchmark(generated, scenarios=["ALPHA"], contenders=CONTENDERS, seeds=2)
    planned.run(first)
    more = benchmark(generated, scenarios=["ALPHA"], contenders=CONTENDERS, seeds=3)
    for use in (lambda: planned.run(damaged), lambda: more.run(damaged)):
        refused = _each_page_damaged(first, damaged, use)
        assert len(refused) > 5
        assert all(str(damaged) in message for message in refused)
    damaged.write_bytes(first.read_bytes()[:8192] + b"\xff" * 8192 + first.read_bytes()[16384:])
    _failed_cleanly(_bench(generated, damaged), damaged)


def test_damaged_pages_of_quality_cells(tmp_path: Path) -> None:
    write_quality(tmp_path)
    first, damaged = tmp_path / "first.db", tmp_path / "damaged.db"

    def use(out: Path = damaged) -> None:
        run_quality(tmp_path, ["Q"], out, contenders=CONTENDERS[:2], seeds=3)

    use(first)
    refused = _each_page_damaged(first, damaged, use)
    assert len(refused) > 5
    assert all(str(damaged) in message for message in refused)


def test_damaged_bytes_are_an_error_that_names_the_file_or_do_not_matter(
    generated: Path, tmp_path: Path
) -> None:
    """100 files in which some bytes were changed."""
    first, damaged = tmp_path / "first.db", tmp_path / "damaged.db"
    planned = benchmark(generated, scenarios=["ALPHA"], contenders=CONTENDERS, seeds=2)
    planned.run(first)
    with sqlite3.connect(first) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole, refused = first.read_bytes(), []
    for seed in range(100):
        rng = random.Random(seed)
        data = bytearray(whole)
        for _ in range(rng.choice((8, 64, 512))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        for rest in ("", "-wal", "-shm"):
            Path(f"{damaged}{rest}").unlink(missing_ok=True)
        damaged.write_bytes(data)
        try:
            planned.run(damaged)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(damaged) in message for message in refused), refused
