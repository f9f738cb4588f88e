"""The notebooks run from the first cell to the last, and the site shows the ones that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="needs nbclient: pip install 'tailcut[dev]'")
import nbformat
from tools.notebooks import FOLDER, NOTEBOOKS, PAGES, executed, page


def _sources(made: object) -> list[str]:
    return [cell["source"] for cell in made.cells]  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of the kernel are not ours
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name: str, tmp_path: Path) -> None:
    made = executed(name, tmp_path)
    assert all(cell.outputs for cell in made.cells if cell.cell_type == "code")
    assert not any(
        one.output_type == "error" for c in made.cells if c.cell_type == "code" for one in c.outputs
    )


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_page_is_the_notebook(name: str) -> None:
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert _sources(stored) == [str(part) for part in NOTEBOOKS[name]]
    shown = (PAGES / f"notebook-{name}.md").read_text(encoding="utf-8")
    assert shown == page(stored, name), "stale: python -m tools.notebooks"
