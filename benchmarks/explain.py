"""What explanations cost, and how far their forecasts can be trusted on real runs.

First table: select plus observe with and without the model on the side, blocks of both alternating, the
fastest of each counting, in CPU time; and one explanation. Second table, with TAILCUT_ASLIB set to a folder
of ASlib scenarios: a random algorithm is run on each instance, at most 1,500 of them; of the second half
of each stream, the share of runs inside the 90% interval (a run stopped at the cutoff is, if the interval
reaches that far), and timeouts as predicted and as they happened.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

# One BLAS thread: waking threads costs more than it saves at these sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from core import CUTOFF, Stream
from tailcut import Outcome, Recipe, Scenario, Selector
from tailcut.catalogue import recipe
from tailcut.explain.forecast import RuntimeForecast
from tailcut.representation import pipeline
from tailcut.scenarios.collection import scenarios_in
from tailcut.types import Progress

BLOCKS, STEPS, LONGEST = 60, 300, 1500


def _seconds(stream: Stream, selector: Selector) -> float:
    started = time.thread_time()
    stream.serve(selector, STEPS)
    return (time.thread_time() - started) / STEPS


def cost(n_algorithms: int, n_features: int) -> tuple[float, float, float]:
    """Return microseconds without and with the model on the side, and milliseconds of an explanation."""
    row = recipe("bounded_thompson")
    assert isinstance(row, Recipe)
    stream = Stream(n_algorithms, n_features)
    pair = [
        Selector(replace(row, forecaster=on), stream.algorithms, CUTOFF) for on in (None, RuntimeForecast)
    ]
    timed = np.array([[_seconds(stream, selector) for selector in pair] for _ in range(BLOCKS)])
    decision = pair[1].select(stream.features[0])
    explaining = []
    for _ in range(10):
        started = time.thread_time()
        decision.explain()
        explaining.append(time.thread_time() - started)
    without, with_forecast = (timed.min(axis=0) * 1e6).tolist()
    return without, with_forecast, min(explaining) * 1e3


def calibration(scenario: Scenario) -> tuple[float, float, float]:
    """Return the share of runs inside the interval, and timeouts as predicted and as they happened."""
    rng = np.random.default_rng(0)
    represent = pipeline("standardised", len(scenario.feature_names))
    forecast = RuntimeForecast(n_algorithms=len(scenario.algorithms), n_features=represent.width)
    order = rng.permutation(len(scenario.instances))[:LONGEST].tolist()
    progress, seen = Progress(scenario.cutoff, 0.0, None), []
    for step, row in enumerate(order):
        x, k = represent(scenario.features[row].copy()), int(rng.integers(len(scenario.algorithms)))
        solved, runtime = bool(scenario.solved[row, k]), float(scenario.runtimes[row, k])
        if step >= len(order) // 2:
            found = forecast.predict(x, progress, 10.0)
            inside = found.low[k] <= runtime <= found.high[k] if solved else found.high[k] >= scenario.cutoff
            seen.append((float(inside), float(found.timeout[k]), float(not solved)))
        outcome = Outcome.solved(runtime) if solved else Outcome.censored(scenario.cutoff)
        forecast.learn(k, x, outcome, scenario.cutoff)
    inside_share, predicted, happened = np.mean(seen, axis=0).tolist()
    return inside_share, predicted, happened


def main() -> None:
    print("|  K |   d | without, us | with, us | explain, ms |\n|---:|---:|---:|---:|---:|")
    for k, d in ((4, 22), (11, 138)):
        without, with_forecast, explain = cost(k, d)
        print(f"| {k:2} | {d:3} | {without:11.1f} | {with_forecast:8.1f} | {explain:11.1f} |")
    folder = os.environ.get("TAILCUT_ASLIB")
    if folder is None:
        print("\nno second table: TAILCUT_ASLIB is not set")
        return
    print("\n| scenario | inside | timeouts predicted | happened |\n|---|---:|---:|---:|")
    rows = []
    for _, scenario in scenarios_in(Path(folder)):
        rows.append(calibration(scenario))
        print(f"| {scenario.name} | {rows[-1][0]:.0%} | {rows[-1][1]:.0%} | {rows[-1][2]:.0%} |")
    mean = np.mean(rows, axis=0)
    print(f"| mean of {len(rows)} | {mean[0]:.0%} | {mean[1]:.0%} | {mean[2]:.0%} |")


if __name__ == "__main__":
    main()
