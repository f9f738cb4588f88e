"""The documentation is held to the code: its examples run, its table is the catalogue's."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from tailcut.catalogue import CATALOGUE
from tailcut.cli.selectors import listing, markdown

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of a page, those in lists too, with the line each begins on."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(rf"^( *)```{language}\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, found.start(2)) + 1, dedent(found[2])) for found in pattern.finditer(text)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if _blocks(page, "python")], ids=lambda page: page.name
)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tailcut.catalogue.CATALOGUE", dict(CATALOGUE))  # examples may register their own
    namespace: dict[str, object] = {}
    for line, source in _blocks(page, "python"):
        code = compile("\n" * (line - 1) + source, str(page), "exec")
        exec(code, namespace)


def test_the_explanation_shown_is_the_one_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """But for its digits: another processor may round differently."""
    page = ROOT / "docs" / "howto" / "explain.md"
    exec(_blocks(page, "python")[0][1], {})
    printed = capsys.readouterr().out
    shown = _blocks(page, "text")[0][1]
    assert re.sub(r"[-+]?[\d.,]+", "#", printed) == re.sub(r"[-+]?[\d.,]+", "#", shown)


def test_the_catalogue_page_lists_the_catalogue() -> None:
    page = (ROOT / "docs" / "reference" / "catalogue.md").read_text(encoding="utf-8")
    expected = f"<!-- tailcut selectors --markdown -->\n{markdown(listing())}\n<!-- end -->"
    assert expected in page, "stale: paste the output of `tailcut selectors --markdown` between the marks"


def test_the_reference_of_the_commands_is_current() -> None:
    from tools.command_reference import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "stale: python -m tools.command_reference"


def test_the_api_page_has_every_public_name() -> None:
    import tailcut
    from tailcut import bench

    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    shown = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith("::: ")}
    public = {*tailcut.__all__, *bench.__all__} - {"CATALOGUE", "__version__", "TailcutError"}
    assert public - shown == set()


def test_the_public_api_is_explained() -> None:
    """All that the API page shows has a docstring, its public methods included; overrides inherit theirs."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    unexplained = []
    for path in re.findall(r"^::: (\S+)", page, flags=re.MULTILINE):
        shown = pydoc.locate(path)
        assert shown is not None, path
        if isinstance(shown, ModuleType):
            own = [
                value
                for name, value in vars(shown).items()
                if getattr(value, "__module__", "") == path and not name.startswith("_")
            ]
        else:
            own = [shown]
        for thing in own:
            members = vars(thing) if inspect.isclass(thing) else {}
            public = [name for name in members if not name.startswith("_")]
            wanted = [(path, thing), *((f"{path}.{name}", getattr(thing, name)) for name in public)]
            unexplained += [
                f"{name} ({getattr(thing, '__name__', '')})"
                for name, value in wanted
                if (callable(value) or isinstance(value, property)) and not inspect.getdoc(value)
            ]
    assert unexplained == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]]
    assert [page for page in pages if f" {page}\n" not in navigation] == []


def test_commands_named_in_the_docs_exist() -> None:
    """Every `tailcut WORD` in a shell block or in backticks is a command; every `make WORD` a target."""
    from tailcut.cli.app import app

    known = {command.name for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        shell = "\n".join(source for _, source in _blocks(page, "sh"))
        for word in re.findall(r"(?:^|`|/)tailcut ([a-z]+)", text + shell, re.MULTILINE):
            assert word in known, f"{page.name}: there is no command 'tailcut {word}'"
        for word in re.findall(r"(?:^|`)make ([a-z-]+)", text + shell, re.MULTILINE):
            assert word in targets, f"{page.name}: there is no target 'make {word}'"


def test_the_readme_shows_what_the_demo_replays(tmp_path: Path) -> None:
    """Within the noise of the seeds: another processor rounds differently, as if it had other seeds."""
    import json
    import math
    import os
    import sys

    from tailcut.cli.demo import SHOWN

    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = page.split("<!-- tailcut demo -->")[1].split("<!-- end -->")[0]
    shown = {line.split("|")[1].strip(): float(line.split("|")[2]) for line in table.splitlines()[3:] if line}
    wanted = [word for name in SHOWN for word in ("--selector", name)]
    command = [sys.executable, "-m", "tailcut", "bench", *wanted, "--seeds", "5", "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "TAILCUT_ASLIB"}
    result = subprocess.run(
        [*command, "--out", str(tmp_path / "r.db")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=environment,
    )
    for row in json.loads(result.stdout):
        tolerance = 0.05 * row["par10_mean"] + 0.06 + 2 * row["par10_std"] / math.sqrt(5)
        assert abs(shown.pop(row["selector"]) - row["par10_mean"]) <= tolerance, row
    assert not shown


def test_the_sat_page_names_files_that_its_own_command_writes() -> None:
    from tailcut.domains.sat.generators import plan

    page = (ROOT / "docs" / "reference" / "sat.md").read_text(encoding="utf-8")
    found = re.search(r"sat generate --out formulas --count (\d+) --seed (\d+)", page)
    assert found is not None
    written = {name for name, _, _ in plan(int(found[1]), int(found[2]), None)}
    named = set(re.findall(r"formulas/([\w-]+)\.cnf", page))
    assert named
    assert named <= written


def test_numbers_and_names_that_pages_take_from_the_code() -> None:
    from tailcut.representation import PIPELINES
    from tailcut.service.service_limits import ServiceLimits

    pages = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    every = f"{ServiceLimits().snapshot_every:,}"
    assert f"the service writes them every {every})" in pages["scaling.md"]
    assert f"the events after it are replayed: {every} at most" in pages["service.md"]
    drift = (ROOT / "benchmarks" / "drift.py").read_text(encoding="utf-8")
    assert re.search(r'^SELECTORS = \(("\w+", ){3}"\w+"\)$', drift, flags=re.MULTILINE)
    assert "prints the tables of all four selectors" in pages["drift.md"]
    assert all(f"`{name}`" in pages["representation.md"] for name in PIPELINES)


@pytest.mark.parametrize("name", ["limits.md", "scaling.md", "service.md", "solve.md", "state.md"])
def test_every_guarantee_names_tests_that_exist(name: str) -> None:
    """In the table of guarantees, each row names tests, or the benchmark that measured it."""
    (found,) = (ROOT / "docs").rglob(name)
    page = found.read_text(encoding="utf-8")
    assert page.count("| guarantee | test |") == 1
    table = page.split("| guarantee | test |\n|---|---|\n")[1].split("\n\n")[0]
    for row in table.splitlines():
        named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", row.split("|")[2])
        assert named, row
        for file, test in named:
            path = ROOT / file if file.startswith("benchmarks/") else ROOT / "tests" / file
            assert path.is_file(), row
            assert f"def {test}(" in path.read_text(encoding="utf-8") if test else True, row


def test_git_ignores_what_the_demo_and_the_readme_leave() -> None:
    left = [
        "tailcut-demo/report/index.html",
        "results.db",
        "tailcut-run.jsonl",
        "formulas/x.cnf",
        "selector.state",
    ]
    asked = subprocess.run(["git", "check-ignore", *left], cwd=ROOT, capture_output=True, text=True)
    if asked.returncode == 128:
        pytest.skip("not a checkout")
    assert asked.stdout.split() == left
