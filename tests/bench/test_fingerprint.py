"""The code behind a result: what it means counts, not how it is written down or where it lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.bench import fingerprint as under_test
from tailcut.bench.fingerprint import fingerprint
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
from tailcut.bench.execution import run_cells
from tailcut.bench.store import opened
__import__(sys.argv[1])
cells = plan([("ONE", Scenario.read("ONE"))], [Contender.of("mine"), Contender.of("random")], 1)
computed = []
with opened("results.db") as store:
    run_cells(cells, store, on_cell=lambda cell, result: computed.append(cell.contender.label))
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


def test_importing_another_function_under_the_same_name_counts(folder: Path) -> None:
    _bench(folder)
    (folder / "mine.py").write_text(MINE.replace("import first, last", "import last as first, first as last"))
    assert _bench(folder)[0] == ["mine"]


def test_words_and_places_do_not_count(folder: Path) -> None:
    _, par = _bench(folder)
    text = MINE.replace("A selector of our own.", "Another docstring.").replace("this never happens", "oh")
    text = text.replace("chosen = first", "# a comment\n\n\nchosen = first").replace("It prefers", "Prefers")
    (folder / "mine.py").unlink()
    (folder / "helper.py").rename(folder / "elsewhere.py")
    (folder / "moved").mkdir()
    (folder / "moved" / "__init__.py").write_text("from moved.own import Mine\n\n__all__ = ['Mine']\n")
    (folder / "moved" / "own.py").write_text(text.replace("from helper", "from elsewhere"))
    assert _bench(folder, "moved") == ([], par)


def test_a_part_without_source_is_never_taken_for_another(folder: Path) -> None:
    script = BENCH.replace("__import__(sys.argv[1])", "exec(open('mine.py').read(), {'__name__': 'typed'})")
    (folder / "bench.py").write_text(script)
    assert _bench(folder)[0] == ["mine", "random"]
    assert _bench(folder)[0] == ["mine"]


def test_libraries_count_for_those_who_call_them(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, linear = CATALOGUE["degroote_epsilon_greedy_rf"], CATALOGUE["degroote_epsilon_greedy_lr"]
    assert set(fingerprint(linear).libraries) == {"python", "numpy", "scipy"}
    assert set(fingerprint(forest).libraries) == {"python", "numpy", "sklearn"}
    before = fingerprint(forest)
    monkeypatch.setattr(under_test, "_version", lambda name: "99" if name == "sklearn" else "1")
    assert fingerprint(forest).libraries != before.libraries
    assert fingerprint(forest).code == before.code


def test_a_row_is_known_by_its_parts() -> None:
    codes = {name: fingerprint(row).code for name, row in CATALOGUE.items()}
    assert codes["tailcut"] != codes["bounded_thompson"]
    assert codes["bclinucb"] != codes["blinducb"]  # the same class, bias_corrected or not
    assert fingerprint(None).code not in codes.values()


def test_the_source_of_compiled_kernels_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {name: fingerprint(CATALOGUE[name]) for name in ("tailcut", "tailcut_schedule", "thompson")}
    edited = tmp_path / "tree_kernels.pyx"
    edited.write_text("# another one\n")
    source_of = under_test._source_of
    kernels = "tailcut.numerics.tree_kernels"
    monkeypatch.setattr(under_test, "_source_of", lambda name: edited if name == kernels else source_of(name))
    changed = {name for name, known in before.items() if fingerprint(CATALOGUE[name]) != known}
    assert changed == {"tailcut", "tailcut_schedule"}
