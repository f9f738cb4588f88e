"""A result file of three small scenarios, made once by the benchmark itself."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.bench.benchmark import run_cells
from tailcut.bench.plan import Contender, plan
from tailcut.bench.store import describe_scenario, opened
from tailcut.scenarios import Scenario
from tests.bench.conftest import write_scenario

SELECTORS = ("bj_thompson_rev", "thompson", "rand_bclinucb", "epsilon_greedy", "oracle", "sbs")
SCENARIOS = ("ALPHA", "BETA", "GAMMA")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("TAILCUT_CACHE")
    os.environ["TAILCUT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["TAILCUT_CACHE"]
    else:
        os.environ["TAILCUT_CACHE"] = before


@pytest.fixture(scope="session")
def scenarios_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aslib")
    for number, name in enumerate(SCENARIOS):
        write_scenario(folder, name, n_instances=60, seed=number)
    return folder


@pytest.fixture(scope="session")
def results(scenarios_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("results") / "results.db", scenarios_folder)


def fill(
    path: Path,
    scenarios_folder: Path,
    scenarios: tuple[str, ...] = SCENARIOS,
    selectors: tuple[str, ...] = SELECTORS,
    seeds: int = 3,
) -> Path:
    """Run selectors on scenarios into a result file, as `tailcut bench` does."""
    found = [(str(scenarios_folder / name), Scenario.read(scenarios_folder / name)) for name in scenarios]
    with opened(path) as store:
        store.begin_run("tailcut bench --of-this-test")
        for _, scenario in found:
            store.describe_scenario(scenario.name, describe_scenario(scenario))
        run_cells(plan(found, [Contender.parse(name) for name in selectors], seeds), store)
    return path


def command(*arguments: str | Path, timeout: int = 240) -> subprocess.CompletedProcess[str]:
    """Run `tailcut report` in a process of its own, with no ASlib folder from outside."""
    environment = {key: value for key, value in os.environ.items() if key != "TAILCUT_ASLIB"}
    return subprocess.run(
        [sys.executable, "-m", "tailcut", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )


def paragraphs(markup: str) -> list[str]:
    """The paragraphs of a page's part as plain texts, each on one line."""
    return [" ".join(html.unescape(text).split()) for text in re.findall(r"<p>(.*?)</p>", markup, re.DOTALL)]


@pytest.fixture(scope="session")
def written(results: Path, scenarios_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report that the command wrote, SVG only."""
    out = tmp_path_factory.mktemp("report")
    done = command(results, "--out", out, "--aslib", scenarios_folder, "--format", "svg", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(out / "index.html")
    assert done.stderr == "", "no progress bar where there is no terminal"
    return out
