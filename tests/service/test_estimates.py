"""The estimate over HTTP and on the dashboard: a run that beats the single best is not shown as a loss."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tailcut import Scenario
from tailcut.bench.replay import shuffled
from tailcut.journal import Journal, Project
from tailcut.scenarios.bundled import SCENARIO
from tests.chromium import launched
from tests.service.running import Running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SEED = 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on a replay of the bundled scenario: PAR10 6.68 s, the true single best's is 11.04 s.

    By the mean of each algorithm's own instances, which were chosen for it, 823 s would seem lost.
    """
    path = tmp_path_factory.mktemp("estimates") / "state.db"
    scenario = Scenario.read(SCENARIO)
    settings: dict[str, Any] = {
        "selector": "bounded_thompson",
        "algorithms": list(scenario.algorithms),
        "cutoff": scenario.cutoff,
        "seed": SEED,
    }
    times = np.where(scenario.solved, scenario.runtimes, np.inf)
    with Journal(path) as journal:
        project = Project.create(journal, "replay", settings)
        with journal.together():
            for row in shuffled(len(times), SEED).tolist():
                decision = project.select(scenario.features[row], instance=scenario.instances[row])
                runtime = float(times[row, scenario.algorithms.index(decision.algorithm)])
                if runtime <= decision.budget:
                    project.observe(decision, runtime=runtime)
                else:
                    project.observe(decision, censored_at=decision.budget)
        counted = project.statistics
        own = [one.loss / one.outcomes for one in counted.algorithms.values() if one.outcomes]
        assert counted.par10 == pytest.approx(6.68, abs=0.01)
        assert scenario.losses().mean(axis=0).min() == pytest.approx(11.04, abs=0.01)
        assert counted.loss - counted.instances * min(own) > 800.0
    with Running(path) as running:
        yield running


def estimate_of(running: Running, project: str) -> dict[str, Any]:
    """Return the estimate as soon as there is one."""
    for _ in range(600):
        found = running.call("GET", f"/v1/projects/{project}/estimate").json
        assert found["under_way"] or found["last_event"] is not None
        if found["last_event"] is not None:
            return dict(found)
        time.sleep(0.2)
    raise AssertionError("no estimate within two minutes")


def test_a_run_that_beats_the_single_best_is_a_gain(replayed: Running) -> None:
    found = estimate_of(replayed, "replay")["estimate"]
    assert found["is_estimate"]
    assert found["par10"] == pytest.approx(6.68, abs=0.01)
    assert found["saved"]["low"] > 0.0
    truth = dict(zip(*_truth(), strict=True))
    assert found["saved"]["low"] <= min(truth.values()) - found["par10"] <= found["saved"]["high"]


def _truth() -> tuple[tuple[str, ...], list[float]]:
    scenario = Scenario.read(SCENARIO)
    return scenario.algorithms, scenario.losses().mean(axis=0).tolist()


def test_the_dashboard_shows_the_same(replayed: Running, browser: Browser) -> None:
    estimate_of(replayed, "replay")
    page = browser.new_page()
    page.goto(f"{replayed.address}/#/project/replay")
    page.get_by_label("Token").fill(replayed.token)
    page.keyboard.press("Enter")
    tile = page.locator('[data-tile="saved"]')
    tile.get_by_text("choosing pays off").wait_for(timeout=30_000)
    assert "+" in tile.inner_text()
    assert "estimate" in tile.inner_text().lower()
    assert "lost" not in tile.inner_text()
    page.get_by_text("cryptominisat", exact=True).first.wait_for()
    page.close()


def test_without_outcomes_there_is_no_estimate(tmp_path: Path) -> None:
    with Running(tmp_path / "state.db") as running:
        running.create("empty", "tailcut", algorithms=["a", "b"])
        assert estimate_of(running, "empty")["estimate"] is None
        assert running.call("GET", "/v1/projects/nobody/estimate").status == 404


def test_a_server_that_stops_ends_the_estimate_under_way(tmp_path: Path) -> None:
    for pause in (0.0, 0.2):  # before and after the process is there
        with Running(tmp_path / "state.db") as running:
            path = running.create(f"p{pause}", "tailcut", algorithms=["a", "b"])
            assert running.call("GET", f"{path}/estimate").json["under_way"]
            time.sleep(pause)
        assert not any(b"tailcut.estimate" in words for words in _children())


def _children() -> Iterator[list[bytes]]:
    """Yield the command of each process that this one has started."""
    for task in Path("/proc/self/task").iterdir():
        for number in (task / "children").read_text().split():
            yield Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
