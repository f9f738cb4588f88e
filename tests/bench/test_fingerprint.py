"""The code behind a result: what decides, learns and measures, inside the package and outside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.bench import plan as under_test
from tailcut.bench.plan import DECIDING, fingerprint
from tailcut.catalogue import CATALOGUE
from tests.bench.conftest import write_scenario

MINE = '''
"""A selector of our own."""

from dataclasses import replace

from tailcut import CATALOGUE, register
from helper import first, last

class Mine(type(CATALOGUE["random"].exploration())):
    """It prefers one end."""

    def estimate(self, belief, cutoff, rng):
        """Score by number."""
        if cutoff < 0.0:
            raise ValueError("this never happens")
        found = super().estimate(belief, cutoff, rng)
        return found._replace(low=chosen(found.low), high=found.high)

chosen = first
register(replace(CATALOGUE["random"], name="mine", exploration=Mine))
'''
HELPER = """
import numpy as np

def first(values):
    return np.arange(len(values), dtype=float)

def last(values):
    return -np.arange(len(values), dtype=float)
"""
BENCH = """
import sys
from tailcut import Scenario
from tailcut.bench.plan import Contender, plan
from tailcut.bench.benchmark import BenchProgress, run_cells
from tailcut.bench.store import opened
__import__(sys.argv[1])
cells = plan([("ONE", Scenario.read("ONE"))], [Contender.of("mine"), Contender.of("random")], 1)
computed = []
class Noted(BenchProgress):
    def cell_done(self, cell, result):
        computed.append(cell.contender.label)
with opened("results.db") as store:
    run_cells(cells, store, progress=Noted())
    shown = {row["selector"]: row["par"] for row in store.rows(cell.hash for cell in cells)}
print(*computed, "|", shown["mine"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_scenario(tmp_path, "ONE")
    for name, text in {"mine.py": MINE, "helper.py": HELPER, "bench.py": BENCH}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def _bench(folder: Path, module: str = "mine") -> tuple[list[str], float]:
    """Benchmark the selector in a process of its own; return what was computed, and its PAR10."""
    done = subprocess.run(
        [sys.executable, "bench.py", module], cwd=folder, capture_output=True, text=True, check=True
    )
    computed, _, par = done.stdout.partition("|")
    return computed.split(), float(par)


def test_an_edited_selector_from_outside_is_computed_again(folder: Path) -> None:
    computed, first = _bench(folder)
    assert computed == ["mine", "random"]
    assert _bench(folder) == ([], first)
    (folder / "mine.py").write_text(MINE.replace("chosen = first", "chosen = last"))
    computed, last = _bench(folder)
    assert computed == ["mine"]
    assert last != first


def test_an_edit_in_what_it_imports_counts_too(folder: Path) -> None:
    _bench(folder)
    (folder / "helper.py").write_text(HELPER.replace("np.arange(len(values), dtype=float)", "values", 1))
    assert _bench(folder)[0] == ["mine"]


def test_a_part_without_source_is_never_taken_for_another(folder: Path) -> None:
    script = BENCH.replace("__import__(sys.argv[1])", "exec(open('mine.py').read(), {'__name__': 'typed'})")
    (folder / "bench.py").write_text(script)
    assert _bench(folder)[0] == ["mine", "random"]
    assert _bench(folder)[0] == ["mine"]


def test_libraries_count_for_those_who_call_them(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, linear = CATALOGUE["degroote_epsilon_greedy_rf"], CATALOGUE["degroote_epsilon_greedy_lr"]
    assert {"python", "tailcut", "numpy", "scipy"} <= set(fingerprint(linear).libraries)
    assert "sklearn" in fingerprint(forest).libraries
    before = fingerprint(forest)
    monkeypatch.setattr(under_test, "version_of", lambda name: "99" if name == "sklearn" else "1")
    assert fingerprint(forest).libraries != before.libraries
    assert fingerprint(forest).code == before.code


def test_a_row_is_known_by_its_parts() -> None:
    codes = {name: fingerprint(row).code for name, row in CATALOGUE.items()}
    assert len({*codes.values(), fingerprint(None).code}) == len(CATALOGUE) + 1
    assert codes == {name: fingerprint(row).code for name, row in CATALOGUE.items()}


def test_the_source_of_this_package_counts_that_of_the_kernels_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = Path(under_test.__file__).parents[1]
    for name in DECIDING:
        assert (package / name).is_dir() or (package / f"{name}.py").is_file(), f"{name} is no more"
    copied = tmp_path / "tailcut"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__"))
    monkeypatch.setattr(under_test, "__file__", str(copied / "bench" / "plan.py"))
    unchanged = under_test._deciding_source.__wrapped__()
    assert unchanged == under_test._deciding_source()
    for name in ("numerics/tree_kernels.pyx", "selector.py", "bench/replay.py"):
        before = under_test._deciding_source.__wrapped__()
        with (copied / name).open("a") as file:
            file.write("# another one")
        assert under_test._deciding_source.__wrapped__() != before
