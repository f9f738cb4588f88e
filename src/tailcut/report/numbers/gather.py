"""Computes everything a report shows, from a result file and, if available, the scenarios."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tailcut.bench.baselines import FIXED, replay_baseline
from tailcut.bench.ranks import Ranking
from tailcut.bench.store import Store, describe_scenario
from tailcut.bench.summary import ReferenceCosts, paid
from tailcut.errors import TailcutError
from tailcut.report.numbers.against_single_best import InstanceScatter, against_single_best
from tailcut.report.numbers.explained_decisions import ExplainedDecisions, explain_decisions, explainable
from tailcut.report.numbers.extra_cpu import CpuCurve, cpu_curves
from tailcut.report.numbers.kaplan_meier import SurvivalCurve, survival_curves
from tailcut.report.numbers.learning import Learning, learnings
from tailcut.report.numbers.results import CellRow, Results, load
from tailcut.report.numbers.scatters import Scatter, featured, scatters
from tailcut.report.numbers.standings import MetricGrid, Standing, grids_of, ranking, standings
from tailcut.report.numbers.stream_curves import Shares, StreamCurves, cutoff_of, regret, shares, solved_by
from tailcut.report.numbers.sweep_points import SweepPoints, sensitivity
from tailcut.report.progress import SILENT, ReportProgress
from tailcut.scenarios import Scenario, bundled
from tailcut.types import Array

Traces = dict[str, dict[int, Any]]
"""Selector -> seed -> one array per step, shape (n,)."""


@dataclass(frozen=True)
class ScenarioPart:
    """What is shown about one scenario; None or empty if it cannot be computed."""

    name: str
    description: dict[str, Any]
    """As `tailcut.bench.store.describe_scenario`, as far as it is known."""
    regret: StreamCurves | None
    solved: StreamCurves | None
    shares: tuple[Shares, ...]
    survival: tuple[SurvivalCurve, ...]
    learning: tuple[Learning, ...]
    """How each selector learns, in the order of the standings; needs results of sbs and oracle."""
    notes: tuple[str, ...]
    """What was left out, and why."""
    versus: InstanceScatter | None = None
    """The best selector against the single best solver, instance by instance."""

    @property
    def algorithms(self) -> list[str]:
        """Names of the algorithms, or numbers where the names are not known."""
        names: list[str] = self.description["algorithms"]
        return names


@dataclass(frozen=True)
class Report:
    """The whole report as data."""

    results: Results
    grids: dict[str, MetricGrid]
    ranked: Ranking | None
    standings: list[Standing]
    featured: list[str]
    scatters: list[Scatter]
    sweeps: list[SweepPoints]
    scenarios: list[ScenarioPart]
    cpu_curves: list[CpuCurve] = field(default_factory=list)
    """What extra CPU time gains, if there is any."""
    explained: ExplainedDecisions | None = None
    """Decisions on the first scenario available; None if there is none, or no selector to explain them."""
    notes: list[str] = field(default_factory=list)


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
    grids = grids_of(results)
    ranked = ranking(grids["par"])
    ordered = standings(grids, ranked)
    chosen = featured(ordered)
    parts, decisions, who = [], None, explainable(ordered)
    progress.scenarios_planned(len(results.scenarios))
    for name in results.scenarios:
        read, why_not = (scenario, []) if scenario is not None else _read(aslib, name, results)
        parts.append(_part(store, results, name, ordered, chosen, read, why_not))
        if decisions is None and read is not None and who is not None:
            decisions = explain_decisions(read, who, results.seeds[0])
        progress.scenario_gathered(name)
    return Report(
        results=results,
        grids=grids,
        ranked=ranked,
        standings=ordered,
        featured=chosen,
        scatters=scatters(ordered),
        sweeps=sensitivity(results),
        scenarios=parts,
        cpu_curves=cpu_curves(grids),
        explained=decisions,
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
    cell = next(cell for cell in results.cells if cell.scenario == name)
    reference = ReferenceCosts.of(scenario, results.penalty)
    if not np.allclose([reference.vbs, reference.sbs], [cell.vbs, cell.sbs], rtol=1e-9):
        return None, [f"no survival curves: {aslib / name} is not the scenario these results were made with"]
    return scenario, []


def _part(
    store: Store,
    results: Results,
    name: str,
    ordered: Sequence[Standing],
    chosen: Sequence[str],
    scenario: Scenario | None,
    notes: list[str],
) -> ScenarioPart:
    choices: Traces = {}
    losses: Traces = {}
    for selector in results.selectors:
        for cell in results.of(name, selector):
            chosen_at, lost_at, _ = store.trace(cell.hash)
            choices.setdefault(selector, {})[cell.seed] = chosen_at
            losses.setdefault(selector, {})[cell.seed] = lost_at
    description = _description(results, name, scenario, choices, losses)
    curves = regret(name, losses, _oracle(losses, scenario, results))
    if curves is None:
        notes = [*notes, "no regret curves: there is no result of `oracle` to compare with"]
    shown = {selector: losses[selector] for selector in chosen if selector in losses}
    cutoff = description.get("cutoff")
    if cutoff is None:
        notes = [*notes, "no curves of solved instances: everything was solved, so the cutoff is not known"]
    windows = [
        shares(selector, list(choices[selector].values()), len(description["algorithms"]))
        for selector in chosen
        if selector in choices and selector not in ("sbs", *FIXED)  # always the same ones
    ]
    return ScenarioPart(
        name=name,
        description=description,
        regret=curves,
        solved=None if cutoff is None or not shown else solved_by(name, shown, cutoff),
        shares=tuple(windows),
        survival=tuple(survival_curves(scenario, results.penalty)) if scenario is not None else (),
        learning=learnings([one.selector for one in ordered], losses),
        versus=against_single_best(name, [one.selector for one in ordered], losses, cutoff),
        notes=tuple(notes),
    )


def _oracle(losses: Traces, scenario: Scenario | None, results: Results) -> dict[int, Array]:
    """Return the oracle's losses per seed: as recorded, else from the scenario."""
    found: dict[int, Array] = dict(losses.get("oracle", {}))
    if scenario is not None:
        for seed in results.seeds:
            if seed not in found:
                trace = replay_baseline(scenario, "oracle", seed=seed, penalty=results.penalty)
                found[seed] = paid(scenario, trace, results.penalty)[0]
    return found


def _description(
    results: Results, name: str, scenario: Scenario | None, choices: Traces, losses: Traces
) -> dict[str, Any]:
    """Return what is known about a scenario: read, noted in the file, or what follows from the traces."""
    if scenario is not None:
        return describe_scenario(scenario, results.penalty)
    noted = results.described.get(name)
    cells: list[CellRow] = [cell for cell in results.cells if cell.scenario == name]
    if noted is not None and noted["penalty"] == results.penalty:
        return noted
    if noted is not None:  # its baselines count timeouts differently
        return {**noted, "sbs_par": cells[0].sbs, "vbs_par": cells[0].vbs}
    highest = max(int(trace.max()) for by_seed in choices.values() for trace in by_seed.values())
    known = {
        "name": name,
        "instances": len(next(iter(next(iter(losses.values())).values()))),
        "algorithms": [f"algorithm {number + 1}" for number in range(highest + 1)],
        "sbs_par": cells[0].sbs,
        "vbs_par": cells[0].vbs,
    }
    cutoff = cutoff_of(cells, lambda cell: losses[cell.selector][cell.seed])
    return known if cutoff is None else {**known, "cutoff": cutoff}
