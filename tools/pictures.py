"""Draw the pictures of docs/start/pictures.md and of the home page from the bundled scenario.

python -m tools.pictures
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from tailcut import Scenario, Selector
from tailcut.bench.baselines import replay_baseline
from tailcut.bench.replay import Trace, replay
from tailcut.bench.summary import paid
from tailcut.scenarios import bundled
from tailcut.types import Array

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
INK, GREY, BLUE, ORANGE = "#1f2937", "#6b7280", "#1d4ed8", "#c2410c"
SOLVERS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#e377c2", "#bcbd22")
SEED = 0


def main() -> None:
    """Draw all of them."""
    ASSETS.mkdir(exist_ok=True)
    mpl.rcParams.update({"font.size": 11, "svg.hashsalt": "tailcut", "svg.fonttype": "none"})
    scenario = Scenario.read(bundled.SCENARIO)
    traces = {name: _replayed(scenario, name) for name in ("tailcut", "tailcut_schedule")}
    _save(complement(scenario), "complement")
    _save(loop(), "loop")
    _save(censored(scenario), "censored")
    _save(learning(scenario, traces), "learning")
    _save(schedule(scenario, traces["tailcut_schedule"]), "schedule")


def _replayed(scenario: Scenario, name: str) -> Trace:
    selector = Selector(name, scenario.algorithms, scenario.cutoff, seed=SEED)
    return replay(scenario, selector, seed=SEED)


def _save(figure: Figure, name: str) -> None:
    figure.savefig(ASSETS / f"picture-{name}.svg", metadata={"Date": None}, facecolor="white")


def _axes(height: float = 3.4) -> tuple[Figure, Any]:
    figure = Figure(figsize=(6.0, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def complement(scenario: Scenario) -> Figure:
    """Draw the share of formulas that each solver solves within a time, and that of the best per formula."""
    figure, axes = _axes()
    times = np.where(scenario.solved, scenario.runtimes, np.inf)
    columns = [*times.T, times.min(axis=1)]
    looks = [{"color": colour, "lw": 1.8} for colour in SOLVERS] + [{"color": INK, "lw": 2.5, "ls": "--"}]
    for name, column, look in zip([*scenario.algorithms, "best per formula"], columns, looks, strict=True):
        ordered = np.sort(column[np.isfinite(column)])
        share = np.arange(1, len(ordered) + 1) / len(column)
        axes.step(ordered, share, where="post", label=f"{name} {share[-1]:.0%}", **look)
    axes.set(xscale="log", xlim=(0.003, scenario.cutoff), ylim=(0, 1), xlabel="seconds of CPU time")
    axes.set_ylabel("share of formulas solved")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, handlelength=1.2)
    return figure


def loop() -> Figure:
    """Draw the loop from an instance to what is learned about it."""
    figure, axes = _axes(2.2)
    axes.axis("off")
    axes.set(xlim=(0, 10), ylim=(0, 3))
    words = [
        "instance\nfeatures",
        "beliefs about\neach solver",
        "decision\nsolver, seconds",
        "run under\nthe limit",
    ]
    for x, text in zip((0.95, 3.4, 6.2, 8.95), words, strict=True):
        axes.text(x, 2.1, text, ha="center", va="center", bbox=_box(BLUE), color=INK)
    axes.text(6.2, 0.6, "outcome\nsolved · censored · failed", ha="center", va="center", bbox=_box(ORANGE))
    for start, end in (((1.75, 2.1), (2.3, 2.1)), ((4.5, 2.1), (5.0, 2.1)), ((7.4, 2.1), (8.1, 2.1))):
        _arrow(axes, start, end)
    _arrow(axes, (8.95, 1.5), (8.2, 0.6), "arc3,rad=-0.3")
    _arrow(axes, (4.2, 0.6), (3.4, 1.5), "arc3,rad=-0.3")
    return figure


def _box(colour: str) -> dict[str, Any]:
    return {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": colour, "linewidth": 2}


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], bend: str = "arc3") -> None:
    look = {"arrowstyle": "-|>", "color": GREY, "lw": 2, "connectionstyle": bend, "mutation_scale": 14}
    axes.annotate("", xy=end, xytext=start, arrowprops=look)


def censored(scenario: Scenario) -> Figure:
    """Draw nine runs of one solver: how long they took, or that they were stopped."""
    figure, axes = _axes()
    column = int(np.argmin(np.abs(scenario.solved.mean(axis=0) - 0.5)))
    rng = np.random.default_rng(SEED)
    rows = rng.choice(len(scenario.instances), 9, replace=False)
    for place, row in enumerate(rows):
        solved = bool(scenario.solved[row, column])
        length = min(float(scenario.runtimes[row, column]), scenario.cutoff)
        axes.barh(place, length, color=BLUE if solved else "#fed7aa", height=0.6)
        if not solved:
            axes.annotate(
                "",
                xy=(scenario.cutoff * 1.12, place),
                xytext=(length, place),
                arrowprops={"arrowstyle": "->", "color": ORANGE, "lw": 2},
            )
    axes.axvline(scenario.cutoff, color=INK, ls="--")
    axes.text(scenario.cutoff, 8.7, "cutoff", ha="center")
    axes.set(
        yticks=[],
        xlabel=f"seconds of CPU time of {scenario.algorithms[column]}",
        xlim=(0, scenario.cutoff * 1.2),
    )
    axes.set_ylabel("nine formulas")
    return figure


def learning(scenario: Scenario, traces: dict[str, Trace]) -> Figure:
    """Draw the mean cost so far over the stream."""
    figure, axes = _axes()
    lines = {**traces, "single best solver": replay_baseline(scenario, "sbs", seed=SEED)}
    for (name, trace), colour in zip(lines.items(), (BLUE, ORANGE, GREY), strict=True):
        losses = paid(scenario, trace)[0]
        axes.plot(_running_mean(losses), label=name, color=colour, lw=2.2, ls="--" if colour == GREY else "-")
    axes.set(
        xlabel="formulas so far",
        ylabel="mean PAR10 so far, s",
        xlim=(0, len(scenario.instances)),
        ylim=(0, None),
    )
    axes.legend(frameon=False, loc="upper right")
    return figure


def _running_mean(values: Array) -> Array:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))


def schedule(scenario: Scenario, trace: Trace) -> Figure:
    """Draw the slices of the last formulas on which more than one solver ran."""
    figure, axes = _axes(4.2)
    slices = trace.slices
    assert slices is not None
    count = np.bincount(slices.step, minlength=len(slices.solved))
    starts = np.concatenate([[0], np.cumsum(count)])
    several = np.flatnonzero(count > 1)[-10:].tolist()
    used: set[int] = set()
    for place, step in enumerate(reversed(several)):
        left = 0.0
        for index in range(starts[step], starts[step + 1]):
            arm, length = int(slices.algorithm[index]), float(slices.seconds[index])
            label = scenario.algorithms[arm] if arm not in used else None
            axes.barh(
                place, length, left=left, color=SOLVERS[arm], edgecolor="white", height=0.65, label=label
            )
            used.add(arm)
            left += length
        solved = bool(slices.solved[step])
        axes.text(
            left + 0.03,
            place,
            "solved" if solved else "unsolved",
            va="center",
            color=INK if solved else ORANGE,
        )
    axes.set(yticks=[], xlabel="seconds of CPU time", xlim=(0, scenario.cutoff * 1.15), ylabel="ten formulas")
    axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


if __name__ == "__main__":
    main()
