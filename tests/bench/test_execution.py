"""Running plans: resumable, the same on one process and on several, and robust against broken cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tailcut.bench.benchmark import run_cells
from tailcut.bench.store import opened
from tests.bench.result_files import Heard, content_of, small_cells


def test_several_processes_give_the_same_file_as_one(generated: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        with opened(tmp_path / f"{jobs}.db") as store:
            run_cells(small_cells(generated), store, jobs=jobs)
    assert content_of(tmp_path / "1.db") == content_of(tmp_path / "2.db")
    assert len(content_of(tmp_path / "1.db")) == 24


def test_a_second_run_does_only_what_is_missing(generated: Path, tmp_path: Path) -> None:
    cells, heard = small_cells(generated), Heard()
    with opened(tmp_path / "r.db") as store:
        run_cells(cells[:5], store)
        run_cells(cells, store, progress=heard)
        assert heard.cells == [cell.hash for cell in cells[5:]]
        run_cells(cells, store, progress=heard)
        assert heard.planned == [(24, 5), (24, 24)]
        assert len(heard.cells) == 19, "nothing was missing"


def test_a_broken_cell_is_recorded_and_tried_again_and_does_not_stop_the_rest(
    generated: Path, tmp_path: Path
) -> None:
    good = small_cells(generated)[:2]
    broken = replace(good[0], folder=str(tmp_path / "nowhere"), hash="broken")
    with opened(tmp_path / "r.db") as store:
        ((cell, result),) = run_cells([broken, *good], store)
        assert cell == broken
        assert "nowhere" in (result.error or "")
        failed = [row for row in store.rows() if row["error"]]
        assert [row["hash"] for row in failed] == ["broken"]
        assert "nowhere" in failed[0]["error"]
        assert store.done() == {cell.hash for cell in good}
        heard = Heard()
        assert run_cells([replace(broken, folder=good[0].folder)], store, progress=heard) == []
        assert len(heard.cells) == 1
        assert "broken" in store.done()
