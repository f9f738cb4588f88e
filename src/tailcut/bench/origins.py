"""The origin of numbers: the run that made them, and the scenarios."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.baselines import oracle, single_best
from tailcut.scenarios import Scenario
from tailcut.types import PENALTY


def describe_run(command: str) -> dict[str, Any]:
    """Return the origin of results: command, versions, machine and time, as plain values."""
    return {
        "command": command,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "tailcut": _version("tailcut"),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "scipy": _version("scipy"),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Return the processor's name where the system says it, else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def describe_scenario(scenario: Scenario, penalty: float = PENALTY) -> dict[str, Any]:
    """Return the size of a scenario, its timeouts and its hindsight baselines, as plain values."""
    losses = scenario.losses(penalty)
    rows = np.arange(len(losses))
    shares = scenario.timeout_shares()
    best = single_best(losses)
    return {
        "name": scenario.name,
        "instances": len(scenario.instances),
        "features": len(scenario.feature_names),
        "algorithms": list(scenario.algorithms),
        "cutoff": scenario.cutoff,
        "timeouts_mean": float(shares.mean()),
        "timeouts_median": float(np.median(shares)),
        "timeouts_min": float(shares.min()),
        "timeouts_max": float(shares.max()),
        "sbs": scenario.algorithms[int(best[0])],
        "sbs_par": float(losses[rows, best].mean()),
        "vbs_par": float(losses[rows, oracle(losses)].mean()),
        "penalty": penalty,
        "feature_cost_mean": float(scenario.feature_cost.mean()),
    }
