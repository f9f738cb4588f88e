"""The layout of the package: where things are, who reads what, and that the docs show it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
from tools import code_size

import tailcut
from tailcut import Selector

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tailcut.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


_NOT_OURS = {"_replace", "_asdict", "_fields", "_exit", "_processes"}
"""Of named tuples, of os, and of a process pool, whose processes nobody else can name."""


def _named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_nobody_reads_the_underscore_of_another_object() -> None:
    """A class may read what it defines itself, of `self`, `cls` or another of its kind; nobody else may."""
    found = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for scope in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
            own = _private_names(scope) if isinstance(scope, ast.ClassDef) else set()
            found += [
                f"{_named(path)}:{node.lineno} .{node.attr}"
                for node in _attributes_in(scope)
                if re.fullmatch(r"_[a-z]\w*", node.attr) and node.attr not in own | _NOT_OURS
            ]
    assert found == []


def _private_names(scope: ast.ClassDef) -> set[str]:
    """Return what a class defines with an underscore, and all that it reads of itself: of its bases, too."""
    names = {
        node.name for node in ast.walk(scope) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            names.add(node.attr)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _attributes_in(scope: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes that are read in a class or module, without those in the classes within it."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.Attribute):
            yield node
        if not isinstance(node, ast.ClassDef):
            yield from _attributes_in(node)


def test_the_design_page_shows_the_folders_that_there_are() -> None:
    page = (ROOT / "docs" / "background" / "design.md").read_text(encoding="utf-8")
    tree = page.split("```text", 1)[1].split("```", 1)[0]
    shown = set(re.findall(r"^  ([a-z_]+(?:\.py|/))", tree, flags=re.MULTILINE))
    there = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert shown == there | {path.name for path in PACKAGE.glob("*.py")}


def _walk(title: str) -> list[str]:
    page = (ROOT / "docs" / "background" / "design.md").read_text(encoding="utf-8")
    walk = page.split(f"### {title}", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
    return re.findall(r"^\d+\. `([a-z_/]+\.py)`", walk, flags=re.MULTILINE)


def test_the_design_page_visits_each_file_once() -> None:
    for title in ("One decision", "One outcome", "One instance of `tailcut run`"):
        visited = _walk(title)
        assert 6 <= len(visited) <= 15, title
        assert len(set(visited)) == len(visited), title
        assert [name for name in visited if not (PACKAGE / name).is_file()] == [], title


def test_the_design_page_visits_every_file_of_a_decision_and_an_outcome() -> None:
    selector = Selector("tailcut", algorithms=["a", "b", "c"], cutoff=300.0, seed=1)
    features = np.random.default_rng(0).normal(size=(400, 4))
    deciding: set[str] = set()
    learning: set[str] = set()
    for number, row in enumerate(features):
        if number == 200:  # the first decisions also make parts and try every algorithm
            deciding.clear()
        with _entered(deciding):
            decision = selector.select(row, instance=f"i{number}")
        with _entered(learning):
            if number % 2:
                selector.observe(decision, runtime=10.0 + number)
            else:
                selector.observe(decision, censored_at=decision.budget)
    assert deciding == set(_walk("One decision"))
    assert learning == set(_walk("One outcome"))


@contextmanager
def _entered(files: set[str]) -> Iterator[None]:
    """Collect the files of the package whose functions are called."""

    def called(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            files.add(_named(path))

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(before)


def test_the_package_is_small_enough_to_read() -> None:
    """`python -m tools.code_size` prints the table; the limits are there."""
    counts = code_size.sizes()
    assert not code_size.excess(counts), code_size.table(counts)
