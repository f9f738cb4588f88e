"""The layout of the package: where things are, that a name means one thing, and that the docs show it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import tailcut

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tailcut.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


DOMAIN_FILES = {"solve", "features", "answers", "verify", "generate"}
"""What a domain's folder holds."""
_NOT_OURS = {"_replace", "_asdict", "_fields", "_exit", "_processes"}
"""Of named tuples, of os, and of a process pool, whose processes nobody else can name."""


def _named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_the_root_holds_four_modules_and_the_command() -> None:
    """`python -m tailcut` needs a `__main__.py` here: Python looks for it nowhere else."""
    assert {path.name for path in PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "catalogue.py",
        "errors.py",
        "selector.py",
    }


def test_one_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(_named(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_one_module_name_stands_for_one_thing() -> None:
    """Commands are named after themselves, whatever they command; every domain has the same few files."""
    places = defaultdict(list)
    for path in MODULES:
        in_a_domain = path.parent.parent.name == "domains" and path.stem in DOMAIN_FILES
        if path.name not in ("__init__.py", "__main__.py") and path.parent.name != "cli" and not in_a_domain:
            places[path.stem].append(_named(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_module_is_too_long_to_read() -> None:
    """Some 400 lines are a quarter of an hour."""
    long = {_named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in long.items() if count > 400} == {}


def test_nobody_reads_the_underscore_of_another_object() -> None:
    """`self._x`, `cls._x`, and what a module or a standard class calls its own are fine."""
    found = []
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        own = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
        own |= set(re.findall(r"self\.(_[a-z]\w*)", text)) | _NOT_OURS
        for node in ast.walk(ast.parse(text)):
            private = isinstance(node, ast.Attribute) and re.fullmatch(r"_[a-z]\w*", node.attr)
            if isinstance(node, ast.Attribute) and private and node.attr not in own:
                found.append(f"{_named(path)}:{node.lineno} .{node.attr}")
    assert found == []


def test_the_design_page_shows_the_folders_that_there_are() -> None:
    page = (ROOT / "docs" / "background" / "design.md").read_text(encoding="utf-8")
    tree = page.split("```text", 1)[1].split("```", 1)[0]
    shown = set(re.findall(r"^  ([a-z_]+(?:\.py|/))", tree, flags=re.MULTILINE))
    there = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert shown == there | {path.name for path in PACKAGE.glob("*.py")}


def test_the_design_page_visits_each_file_once() -> None:
    page = (ROOT / "docs" / "background" / "design.md").read_text(encoding="utf-8")
    for title in ("One decision", "One outcome"):
        walk = page.split(f"### {title}", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
        visited = re.findall(r"^\d+\. `([a-z_/]+\.py)`", walk, flags=re.MULTILINE)
        assert len(visited) >= 6, title
        assert len(set(visited)) == len(visited), title
        assert [name for name in visited if not (PACKAGE / name).is_file()] == [], title
