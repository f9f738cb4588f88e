"""Files that version 0.2 wrote still open: saved selectors, state files of projects and runs, and a result file.

`tests/made_by_0_2` holds them, compressed. Scores are compared loosely, since another processor rounds differently.
"""

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut import Selector
from tailcut.journal import Journal, Project

FILES = Path(__file__).parent / "made_by_0_2"
NEXT = json.loads((FILES / "next_decisions.json").read_text(encoding="utf-8"))


def tailcut(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "tailcut", *map(str, arguments)], check=True, capture_output=True)


def unpack(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(lzma.decompress((FILES / f"{name}.xz").read_bytes()))
    return path


@pytest.mark.parametrize("name", sorted(NEXT))
def test_a_saved_selector_continues(name: str, tmp_path: Path) -> None:
    selector = Selector.load(unpack(f"{name}.state", tmp_path))
    decision = selector.select([1.0] * 5, instance="next")
    algorithm, scores = NEXT[name]
    assert decision.algorithm == algorithm
    assert dict(decision.scores) == pytest.approx(scores, rel=1e-6)
    selector.observe(decision, runtime=1.0)


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule"])
def test_a_project_continues(name: str, tmp_path: Path) -> None:
    with Journal(unpack("farm.db", tmp_path)) as journal:
        project = Project(journal, name)
        assert project.statistics.decisions > 40
        project.observe(project.select([0.5] * 5, instance="next"), runtime=1.0)
        assert list(project.selector.pending) != []


def test_a_run_is_shown_and_compacted(tmp_path: Path) -> None:
    path = unpack("tailcut-run.db", tmp_path)
    tailcut("state", "verify", path)
    tailcut("state", "compact", path)


def test_results_are_reported(tmp_path: Path) -> None:
    """One of its contenders had lessons (`@learn-share`), which version 0.3 does not know."""
    path = unpack("results.db", tmp_path)
    tailcut("report", path, "--out", tmp_path / "report")
    assert "tailcut_schedule" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
