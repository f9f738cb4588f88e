"""Computes everything a report shows, from a result file and, if available, the scenarios."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.baselines import FIXED, replay_baseline
from tailcut.bench.benchmark import BenchProgress
from tailcut.bench.labels import conditions_of, name_of
from tailcut.bench.plan import Contender
from tailcut.bench.ranks import Ranking
from tailcut.bench.replay import shuffled
from tailcut.bench.store import Store, describe_scenario
from tailcut.bench.summary import ReferenceCosts, paid
from tailcut.bench.sweeps import Sweep
from tailcut.catalogue import find
from tailcut.errors import TailcutError
from tailcut.explain import Explanation
from tailcut.report import curves, standings
from tailcut.report.results import Results, load
from tailcut.report.standings import MetricGrid, Standing
from tailcut.scenarios import Scenario, bundled
from tailcut.selector import Selector
from tailcut.types import PENALTY, Array, Decision, Outcome

EXPLAINED_AT = (0.1, 0.5, 1.0)
"""How far into the stream the explained decisions lie."""


class ReportProgress(BenchProgress):
    """Is called as a report proceeds, including the runs it may need first."""

    def proceeded(self, what: str, done: int, total: int) -> None:
        """Handle that so many of the "scenarios gathered", or of the "figures drawn", are ready."""


SILENT = ReportProgress()
"""Ignores everything."""


@dataclass(frozen=True)
class ScenarioPart:
    """What is shown about one scenario; None or empty if it cannot be computed."""

    name: str
    description: dict[str, Any]
    """As `tailcut.bench.store.describe_scenario`, as far as it is known."""
    regret: curves.StreamCurves | None
    solved: curves.StreamCurves | None
    shares: tuple[curves.Shares, ...]
    survival: dict[str, curves.Steps]
    """Algorithm -> its curve, the lowest mean PARk first."""
    learning: tuple[curves.Learning, ...]
    """How each selector learns, in the order of the standings; needs results of sbs and oracle."""
    versus: curves.InstanceScatter | None
    """The best selector against the single best solver, instance by instance."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ExplainedDecision:
    """A decision along the stream of a scenario, and what was not known when it was made."""

    scenario: str
    selector: str
    seed: int
    instances: int
    """How many there are in the stream."""
    step: int
    """Its number in the stream, counted from 1."""
    explanation: Explanation
    runtimes: dict[str, float | None]
    """Seconds that each algorithm needs on this instance; None: it does not solve it."""


@dataclass(frozen=True)
class Report:
    """The whole report as data."""

    results: Results
    grids: dict[str, MetricGrid]
    ranked: Ranking | None
    standings: list[Standing]
    featured: list[str]
    scatters: dict[str, tuple[str, list[Standing]]]
    sweeps: dict[Sweep, list[curves.StreamCurves]]
    scenarios: list[ScenarioPart]
    explained: list[ExplainedDecision]
    """Decisions on the first scenario available; empty if there is none, or no selector to explain them."""
    notes: list[str]


def gather(
    store: Store,
    aslib: Path | None = None,
    *,
    scenario: Scenario | None = None,
    hashes: Collection[str] | None = None,
    notes: Sequence[str] = (),
    progress: ReportProgress = SILENT,
) -> Report:
    """Return the report on a result file, or on those of its cells that have the given hashes.

    `aslib` is the folder of the scenarios' folders, if available; `scenario` the one all results are of;
    `notes` say what was left out before.
    """
    results = load(store, hashes)
    grids = standings.grids_of(results)
    ranked = standings.ranking(grids["par"])
    ordered = standings.standings(grids, ranked)
    shown = standings.featured(ordered)
    parts, explaining = [], explainable(ordered)
    explained: list[ExplainedDecision] = []
    for number, name in enumerate(results.scenarios, start=1):
        read, why_not = (scenario, []) if scenario is not None else _read(aslib, name, results)
        parts.append(_part(store, results, name, ordered, shown, read, why_not))
        if not explained and read is not None and explaining is not None:
            explained = explain_decisions(read, explaining, results.seeds[0], results.penalty)
        progress.proceeded("scenarios gathered", number, len(results.scenarios))
    return Report(
        results=results,
        grids=grids,
        ranked=ranked,
        standings=ordered,
        featured=shown,
        scatters=standings.scatters(ordered),
        sweeps=curves.sensitivity(results),
        scenarios=parts,
        explained=explained,
        notes=list(notes),
    )


def _read(aslib: Path | None, name: str, results: Results) -> tuple[Scenario | None, list[str]]:
    """Return the scenario if it is available and is the one the results are of."""
    if name == bundled.SCENARIO.name and (aslib is None or not (aslib / name).is_dir()):
        aslib = bundled.FOLDER
    if aslib is None or not (aslib / name / "description.txt").is_file():
        where = "no ASlib folder was given" if aslib is None else f"it is not in {aslib}"
        return None, [f"no survival curves: they need the scenario, and {where}"]
    try:
        scenario = Scenario.read(aslib / name)
    except TailcutError as error:
        return None, [f"no survival curves: {error}"]
    cell = next(cell for cell in results.cells if cell["scenario"] == name)
    reference = ReferenceCosts.of(scenario, results.penalty)
    if not np.allclose([reference.vbs, reference.sbs], [cell["vbs"], cell["sbs"]], rtol=1e-9):
        return None, [f"no survival curves: {aslib / name} is not the scenario these results were made with"]
    return scenario, []


def _part(
    store: Store,
    results: Results,
    name: str,
    ordered: Sequence[Standing],
    shown: Sequence[str],
    scenario: Scenario | None,
    notes: list[str],
) -> ScenarioPart:
    choices: dict[str, dict[int, Any]] = {}
    losses: dict[str, dict[int, Array]] = {}
    for selector in results.selectors:
        for cell in results.of(name, selector):
            choices_of_cell, losses_of_cell, _ = store.trace(cell["hash"])
            choices.setdefault(selector, {})[cell["seed"]] = choices_of_cell
            losses.setdefault(selector, {})[cell["seed"]] = losses_of_cell
    description = _description(results, name, scenario, choices, losses)
    oracle = dict(losses.get("oracle", {}))
    if scenario is not None:
        for seed in set(results.seeds).difference(oracle):
            trace = replay_baseline(scenario, "oracle", seed=seed, penalty=results.penalty)
            oracle[seed] = paid(scenario, trace, results.penalty)[0]
    regret = curves.regret(name, losses, oracle)
    if regret is None:
        notes = [*notes, "no regret curves: there is no result of `oracle` to compare with"]
    losses_shown = {selector: losses[selector] for selector in shown if selector in losses}
    cutoff = description.get("cutoff")
    if cutoff is None:
        notes = [*notes, "no curves of solved instances: everything was solved, so the cutoff is not known"]
    windows = [
        curves.shares(selector, list(choices[selector].values()), len(description["algorithms"]))
        for selector in losses_shown
        if selector not in ("sbs", *FIXED)  # always the same ones
    ]
    names = [standing.selector for standing in ordered]
    return ScenarioPart(
        name=name,
        description=description,
        regret=regret,
        solved=curves.solved_by(name, losses_shown, cutoff) if cutoff is not None and losses_shown else None,
        shares=tuple(windows),
        survival={} if scenario is None else curves.survival_curves(scenario, results.penalty),
        learning=tuple(learned for one in names if (learned := curves.learning(one, losses)) is not None),
        versus=curves.against_single_best(name, names, losses, cutoff),
        notes=tuple(notes),
    )


def _description(
    results: Results,
    name: str,
    scenario: Scenario | None,
    choices: dict[str, dict[int, Any]],
    losses: dict[str, dict[int, Array]],
) -> dict[str, Any]:
    """Return what is known about a scenario: read, noted in the file, or what follows from the traces."""
    if scenario is not None:
        return describe_scenario(scenario, results.penalty)
    noted = results.described.get(name)
    cells = [cell for cell in results.cells if cell["scenario"] == name]
    baselines = {"sbs_par": cells[0]["sbs"], "vbs_par": cells[0]["vbs"]}
    if noted is not None:  # with another penalty, its own baselines count timeouts differently
        return noted if noted["penalty"] == results.penalty else {**noted, **baselines}
    highest = max(int(trace.max()) for by_seed in choices.values() for trace in by_seed.values())
    algorithms = [f"algorithm {number + 1}" for number in range(highest + 1)]
    traces = [losses[cell["selector"]][cell["seed"]] for cell in cells]
    inferred = {"name": name, "instances": len(traces[0]), "algorithms": algorithms, **baselines}
    for cell, trace in zip(cells, traces, strict=True):
        if cell["unsolved"] > 0.0 and cell["penalty"] > 1.0:  # an unsolved instance costs penalty x cutoff
            return {**inferred, "cutoff": float(trace.max()) / cell["penalty"]}
    return inferred


def explainable(ordered: Sequence[Standing]) -> str | None:
    """Return the best selector whose decisions are explained by runtimes, at a cost that does not grow."""
    for standing in ordered:
        row = find(name_of(standing.selector))
        if conditions_of(standing.selector):
            continue  # its decisions are not those of a plain stream
        if row is not None and row.bounded and row.predicts_runtimes:
            return standing.selector
    return None


def explain_decisions(
    scenario: Scenario, label: str, seed: int, penalty: float = PENALTY
) -> list[ExplainedDecision]:
    """Return decisions of the selector `label`, made again on the instances in the order of `seed`."""
    contender = Contender.parse(label)
    given = {"seed": seed, "feature_names": scenario.feature_names, **contender.settings(penalty)}
    selector = Selector(contender.selector, scenario.algorithms, scenario.cutoff, **given)
    order = shuffled(len(scenario.instances), seed).tolist()
    wanted = {max(round(share * len(order)), 1) for share in EXPLAINED_AT}
    explained = []
    for step, row in enumerate(order, start=1):
        solved, seconds = scenario.solved[row].tolist(), scenario.runtimes[row].tolist()
        runtimes = {name: seconds[k] if solved[k] else None for k, name in enumerate(scenario.algorithms)}
        decision: Decision | None = selector.select(scenario.features[row], instance=scenario.instances[row])
        if step in wanted and decision is not None:
            about = (scenario.name, label, seed, len(order), step)
            explained.append(ExplainedDecision(*about, decision.explain(), runtimes))
        while decision is not None:
            runtime = runtimes[decision.algorithm]
            in_time = runtime is not None and runtime <= decision.budget
            outcome = Outcome.solved(runtime or 0.0) if in_time else Outcome.censored(decision.budget)
            selector.observe(decision, outcome)
            decision = selector.proceed(decision)
    return explained
