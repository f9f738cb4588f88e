"""Small scenarios on disk, written by our own writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailcut.scenarios import Scenario
from tailcut.scenarios.synthetic import generate


def write_scenario(folder: Path, name: str, *, n_instances: int = 40, seed: int = 0) -> Scenario:
    """Write a generated scenario of 3 algorithms and 4 features into folder/name."""
    made = generate(n_instances=n_instances, n_algorithms=3, n_features=4, seed=seed)
    instances = [f"i{row:04d}" for row in range(n_instances)]
    runs: dict[str, list[Any]] = {
        "instance": [instance for instance in instances for _ in made.algorithms],
        "algorithm": list(made.algorithms) * n_instances,
        "runtime": made.runtimes.ravel().tolist(),
    }
    features = {"instance": instances} | {f"f{j}": made.features[:, j].tolist() for j in range(4)}
    costs: dict[str, list[Any]] = {"instance": instances, "all": [0.1] * n_instances}
    scenario = Scenario.from_frames(runs, features, cutoff=made.cutoff, name=name, feature_costs=costs)
    scenario.write(folder / name)
    return scenario


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three small scenarios, and a cache of its own."""
    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "aslib"
    for number, name in enumerate(("ALPHA", "BETA", "GAMMA")):
        write_scenario(folder, name, seed=number)
    return folder
