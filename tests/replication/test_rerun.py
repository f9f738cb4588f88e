"""Cells in parallel processes, and the command around them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailcut.cli.options import existing
from tailcut.errors import InputError
from tailcut.numerics.processes import BLAS_THREADS
from tailcut.replication.experiment import APPROACHES, chosen_approaches
from tailcut.replication.published import published_in, replicate, replicate_cell, replicate_folder, scenarios

from .examples import random_table

TABLES = {"CPMP-2015": random_table(1, n=30), "QBF-2011": random_table(2, n=30)}
NAMES = ["rand_bclinucb_rev", "bj_thompson_rev", "degroote_epsilon_greedy_lr"]


def test_parallel_cells_are_those_run_here_in_the_order_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BLAS_THREADS[0], "3")
    monkeypatch.delenv(BLAS_THREADS[1], raising=False)
    heard: list[tuple[str, int, int]] = []
    rows = replicate(TABLES, NAMES, seeds=[1, 2, 3], jobs=2, progress=lambda *step: heard.append(step))
    assert rows == [replicate_cell((s, TABLES[s], name, [1, 2, 3])) for s in TABLES for name in NAMES]
    assert heard == [("cells", done, len(rows)) for done in range(1, len(rows) + 1)]
    assert os.environ[BLAS_THREADS[0]] == "3"
    assert BLAS_THREADS[1] not in os.environ


def test_an_unknown_name_fails_before_any_work(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    (tmp_path / "CPMP-2015").mkdir()
    for names, approaches, wrong in ((["SAT99"], NAMES, "scenario SAT99"), ([], ["x"], "approach x")):
        with pytest.raises(InputError, match=f"{wrong}: not in the published table"):
            replicate_folder(tmp_path, names, approaches, progress=lambda *step: heard.append(step))
    assert heard == []


def test_every_approach_runs() -> None:
    for name in APPROACHES:
        row = replicate_cell(("CPMP-2015", TABLES["CPMP-2015"], name, [1, 2]))
        assert 0.0 < row.ours_mean <= 500.0


def test_scenarios_are_those_wanted_or_all_that_are_there(tmp_path: Path) -> None:
    for name in ("QBF-2011", "CPMP-2015", "something-else"):
        (tmp_path / name).mkdir()
    assert existing(tmp_path) == tmp_path
    assert published_in(tmp_path, []) == ["CPMP-2015", "QBF-2011"]
    assert published_in(tmp_path, ["QBF-2011", "QBF-2011"]) == ["QBF-2011"]
    assert chosen_approaches([]) == list(APPROACHES)
    assert chosen_approaches(["thompson", "thompson"]) == ["thompson"]


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --aslib DIR or set the environment variable TAILCUT_ASLIB"):
        existing(None)
    with pytest.raises(InputError, match="missing: no such folder"):
        existing(tmp_path / "missing")
    with pytest.raises(InputError, match=f"none of the published scenarios is in it, e.g. {scenarios()[0]}"):
        published_in(tmp_path, [])
    with pytest.raises(InputError, match="scenario SAT99: not in the published table, which has ASP"):
        published_in(tmp_path, ["SAT99"])
    with pytest.raises(InputError, match="scenario QBF-2011: no folder of that name in"):
        published_in(tmp_path, ["QBF-2011"])
    with pytest.raises(InputError, match="approach thomson: not in the published table"):
        chosen_approaches(["thomson"])
