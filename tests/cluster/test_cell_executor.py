"""Cells on Dask: the same as in one process, whatever dies meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tailcut.bench.benchmark import inline, processes, run_cells
from tailcut.bench.plan import Cell, Contender, plan
from tailcut.bench.store import opened
from tailcut.cli.options import CELLS, check_executor
from tailcut.cluster import cell_executor, connected
from tailcut.cluster.cell_executor import dask_cell_executor
from tailcut.errors import InputError
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario
from tests.bench.result_files import SELECTORS, Heard, content_of
from tests.cluster.farm import Farm, wait_for

DEADLY = """
import os
from tailcut.bench import benchmark
def deadly(scenario, cell):
    if cell.contender.selector == "sbs" and cell.seed == 1:
        os._exit(9)
    return ordinary(scenario, cell)
if benchmark.compute_on.__name__ != "deadly":  # Dask loads a preloaded file twice
    ordinary, benchmark.compute_on = benchmark.compute_on, deadly
"""
"""For workers alone: a cell that ends every process it is computed in."""


def _cells(generated: Path, seeds: int = 2) -> list[Cell]:
    scenarios = [(str(folder), Scenario.read(folder)) for folder in sorted(generated.iterdir())]
    return plan(scenarios, [Contender.of(name) for name in SELECTORS], seeds)


def test_all_three_executors_give_the_same_file(generated: Path, tmp_path: Path, farm: Farm) -> None:
    cells = _cells(generated)
    broken = replace(cells[0], folder=str(tmp_path / "nowhere"), hash="broken")
    heard = Heard()
    with farm.client() as client:
        for name, executor in {
            "inline": inline,
            "processes": processes(2),
            "dask": dask_cell_executor(client),
        }.items():
            with opened(tmp_path / f"{name}.db") as store:
                run_cells(cells, store, executor=executor, progress=heard)
        with opened(tmp_path / "broken.db") as store:
            run_cells([broken, cells[1]], store, executor=dask_cell_executor(client))
            assert [row["hash"] for row in store.rows() if row["error"]] == ["broken"]
            assert store.done() == {cells[1].hash}
    expected = content_of(tmp_path / "inline.db")
    assert len(expected) == 24
    assert content_of(tmp_path / "processes.db") == expected
    assert content_of(tmp_path / "dask.db") == expected
    assert len(heard.cells) == 3 * 24
    assert farm.tasks() == []


def test_workers_need_no_folder_and_few_cells_are_sent_ahead(
    generated: Path, tmp_path: Path, farm: Farm
) -> None:
    """The folder goes when the first cell has come back; most cells are sent after that."""
    cells = [cell for cell in _cells(generated, seeds=8) if cell.scenario == "ALPHA"]
    with farm.client() as client:
        results = dask_cell_executor(client)(cells)
        first = next(iter(results))
        sent = [key for key in farm.tasks() if key.startswith("cell-")]
        shutil.move(cells[0].folder, tmp_path / "gone")
        rest = list(results)
    assert len(sent) <= 2 * 3
    assert [one.error for one in [first, *rest]] == [None] * len(cells)
    assert len(cells) > 2 * 3 + 6


ALONE = """
import sys, threading
from threadpoolctl import threadpool_info
from tailcut.bench.plan import Contender, plan
from tailcut.cluster import cell_executor as worker_cells
from tailcut.scenarios import Scenario

scenario = Scenario.read(sys.argv[1])
cell, *_ = plan([(sys.argv[1], scenario)], [Contender.of("thompson")], 1)
under_way, most, ordinary = [], [], worker_cells.guarded

def watched(cell, read):
    under_way.append(cell)
    most.append(len(under_way))
    result = ordinary(cell, read)
    under_way.pop()
    return result

worker_cells.guarded = watched
given = cell, scenario, worker_cells.identity(cell.contender)
threads = [threading.Thread(target=worker_cells.compute_here, args=given) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(most, {pool["num_threads"] for pool in threadpool_info()})
"""


def test_a_worker_computes_one_cell_at_a_time_with_one_blas_thread(generated: Path) -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", ALONE, str(generated / "ALPHA")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[1, 1, 1] {1}\n", done.stderr


def test_workers_with_other_code_are_refused(
    generated: Path, tmp_path: Path, farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_executor, "identity", lambda _contender: {"code": "other", "numpy": "0"})
    with (
        farm.client() as client,
        opened(tmp_path / "r.db") as store,
        pytest.raises(InputError, match=r"Dask worker tcp://.* has code .*install the same versions"),
    ):
        run_cells(_cells(generated), store, executor=dask_cell_executor(client))
    assert farm.tasks() == []


def test_a_cell_that_kills_its_workers_fails_alone(generated: Path, tmp_path: Path) -> None:
    """Those that waited beside it are computed, and it is not tried for ever."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    farm = Farm(tmp_path, workers=4, preload=str(tmp_path / "deadly.py"), forgiving=0)
    try:
        cells = [cell for cell in _cells(generated) if cell.scenario == "ALPHA"]
        with farm.client() as client, opened(tmp_path / "r.db") as store:
            run_cells(cells, store, executor=dask_cell_executor(client))
            rows = {row["hash"]: row["error"] for row in store.rows()}
        assert sum(worker.poll() is None for worker in farm.workers) == 2
        failed = [cell for cell in cells if rows[cell.hash] is not None]
        assert [(cell.contender.label, cell.seed) for cell in failed] == [("sbs", 1)]
        assert "Dask workers when they died" in str(rows[failed[0].hash])
        assert len(rows) == len(cells)
    finally:
        farm.close()


def _bench(generated: Path, out: Path, *more: str) -> list[str]:
    options = [option for name in SELECTORS for option in ("--selector", name)]
    command = [sys.executable, "-m", "tailcut", "bench", "--aslib", str(generated), "--out", str(out)]
    return [*command, *options, "--seeds", "4", "--json", *more]


def _count(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            (count,) = db.execute("SELECT count(*) FROM cells").fetchone()
    except sqlite3.Error:
        return 0  # not there yet
    return int(count)


@pytest.mark.slow
def test_a_killed_worker_then_ctrl_c_then_resumed_in_processes(
    generated: Path, tmp_path: Path, farm: Farm
) -> None:
    write_scenario(generated, "LONG", n_instances=600, seed=9)
    out = tmp_path / "r.db"
    dask = ("--executor", "dask", "--scheduler", farm.address)
    with subprocess.Popen(
        _bench(generated, out, *dask), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: _count(out) > 4 or process.poll() is not None, "cells")
        farm.workers[0].send_signal(signal.SIGKILL)
        killed_at = _count(out)
        wait_for(lambda: _count(out) > killed_at + 10 or process.poll() is not None, "cells after the kill")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130, said
    assert "Dask: 3 workers with 3 threads; dashboard:" in said
    assert "run the same command again" in said
    assert "Traceback" not in said
    wait_for(lambda: farm.tasks() == [], "the workers to be rid of all tasks")
    assert killed_at < _count(out) < 64
    farm.restore()
    with subprocess.Popen(_bench(generated, out, *dask), stdout=subprocess.DEVNULL) as process:
        before = _count(out)
        wait_for(lambda: _count(out) > before + 4 or process.poll() is not None, "more cells")
        process.kill()
    assert _count(out) < 64
    ended = subprocess.run(
        _bench(generated, out, "--executor", "processes", "--jobs", "2"), capture_output=True
    )
    assert ended.returncode == 0, ended.stderr
    scenarios = [(str(folder), Scenario.read(folder)) for folder in sorted(generated.iterdir())]
    with opened(tmp_path / "inline.db") as store:
        run_cells(plan(scenarios, [Contender.of(name) for name in SELECTORS], 4), store, executor=inline)
    assert content_of(out) == content_of(tmp_path / "inline.db")
    assert len(content_of(out)) == 64
    wait_for(lambda: farm.tasks() == [], "the workers to be rid of a killed client's tasks")


@pytest.mark.slow
def test_a_cluster_of_ones_own_ends_with_the_command(generated: Path, tmp_path: Path) -> None:
    """Ctrl-C in a terminal reaches the workers too; they must leave it to the client."""
    write_scenario(generated, "LONG", n_instances=3000, seed=9)
    out = tmp_path / "r.db"
    with subprocess.Popen(
        _bench(generated, out, "--executor", "dask", "--jobs", "2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for(lambda: _count(out) > 2 or process.poll() is not None, "cells")
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    wait_for(lambda: not _group(process.pid), "its processes to end")


def _group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "scheduler", "ship", "message"),
    [
        ("nope", None, False, "unknown executor 'nope'; known: inline, processes, dask"),
        ("inline", "tcp://127.0.0.1:1", False, "--scheduler is for --executor dask, not for inline"),
        ("processes", None, True, "--ship-instances is for --executor dask, not for processes"),
    ],
)
def test_options_that_do_not_fit_are_named(
    name: str, scheduler: str | None, ship: bool, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_executor(name, CELLS, scheduler, ship=ship)


def test_a_scheduler_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="--scheduler nonsense://1: no Dask scheduler answers there"):
        connected("nonsense://1", workers=1).__enter__()


def test_dask_is_loaded_only_when_asked_for_and_its_lack_is_told(generated: Path, tmp_path: Path) -> None:
    code = (
        "import sys, tailcut.cli.app\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)\n"
        "sys.modules['distributed'] = None  # as if it were not installed\n"
        "tailcut.cli.app.run()"
    )
    arguments = _bench(generated, tmp_path / "r.db", "--executor", "dask")[3:]
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert ended.stderr == "tailcut: running on Dask needs the extra 'dask': pip install 'tailcut[dask]'\n"
    assert ended.returncode == 2
