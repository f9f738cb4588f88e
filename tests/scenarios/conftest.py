"""Fixtures: a cache of its own for every test, and a small scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.scenarios import Scenario
from tailcut.scenarios.aslib_writer import documents


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TAILCUT_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def small() -> Scenario:
    """Three instances, two algorithms, two features, costs in two steps."""
    return Scenario.from_frames(
        {
            "instance": ["i1", "i1", "i2", "i2", "i3", "i3"],
            "algorithm": ["a", "b"] * 3,
            "runtime": [1.5, 100.0, 100.25, 8.0, 3.0, None],
            "status": ["ok", "ok", "ok", "ok", "memout", "timeout"],
        },
        {"instance": ["i3", "i1", "i2"], "size": [30.0, 10.0, None], "share": [0.1, 1e-9, -2.0]},
        cutoff=100.0,
        name="small",
        feature_costs={"instance": ["i1", "i2", "i3"], "parse": [0.5, 0.25, None], "probe": [1.0, 2.0, 3.0]},
    )


@pytest.fixture(scope="session")
def small_files(small: Scenario) -> dict[str, bytes]:
    return {name: text.encode() for name, text in documents(small).items()}


@pytest.fixture
def small_folder(small: Scenario, tmp_path: Path) -> Path:
    small.write(tmp_path / "small")
    return tmp_path / "small"
