"""What traces cost, and the table of it: PARk with feature costs, against the virtual and the single best."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailcut.bench.baselines import replay_baseline
from tailcut.bench.labels import kind_of
from tailcut.bench.replay import Trace
from tailcut.policies.recorded_runs import Recorded
from tailcut.types import PENALTY, Array


def paid(runs: Recorded, trace: Trace, penalty: float = PENALTY) -> tuple[Array, NDArray[np.bool_]]:
    """Return the PARk loss of each step and whether it was solved, shapes (n,).

    The loss is the runtime, for a schedule that of all its runs, plus the cost of features. If the sum
    exceeds the cutoff C, the instance is unsolved and the loss is penalty C. Where runs are rated, the loss
    is the rating of the choice.
    """
    rows, choices, slices = trace.order, trace.choices, trace.slices
    ratings: Array | None = getattr(runs, "ratings", None)
    if ratings is not None:
        return ratings[rows, choices], runs.solved[rows, choices]
    total = runs.runtimes[rows, choices] if slices is None else slices.total
    total = total + trace.feature_cost
    if slices is None:
        solved = runs.solved[rows, choices] & (total <= runs.cutoff)
    else:  # its budgets fit the cutoff; the sum of the parts may be off by a rounding
        solved = slices.solved & (total <= runs.cutoff * (1.0 + 1e-9))
    return np.where(solved, total, penalty * runs.cutoff), solved


@dataclass(frozen=True)
class ReferenceCosts:
    """Mean loss of a scenario's virtual best and single best solver; neither pays for features."""

    vbs: float
    sbs: float

    @staticmethod
    def of(runs: Recorded, penalty: float = PENALTY) -> ReferenceCosts:
        means = (
            float(paid(runs, replay_baseline(runs, name, seed=0, penalty=penalty), penalty)[0].mean())
            for name in ("oracle", "sbs")
        )
        return ReferenceCosts(*means)


def relative(par: float, reference: ReferenceCosts) -> float:
    """Return rePAR = PAR / PAR of the virtual best; 1 is perfect."""
    return par / reference.vbs if reference.vbs > 0.0 else math.nan


def normalised(par: float, reference: ReferenceCosts) -> float:
    """Return nPAR = (PAR - VBS) / (SBS - VBS): 0 is perfect, 1 the best single algorithm in hindsight."""
    gap = reference.sbs - reference.vbs
    return (par - reference.vbs) / gap if gap > 0.0 else math.nan


def par_name(row: Mapping[str, Any]) -> str:
    """Return the name of the loss in a cell or a row of the summary."""
    return f"par{row.get('penalty', PENALTY):g}"


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean over seeds of finished cells (rows of `Store.rows`), per scenario and selector.

    With a penalty k other than 10, which is then a column too, par10 becomes park in all names.
    par10_std is the population deviation over the seeds, as in the published table. repar10 and npar10 are
    None where the virtual and the single best solver leave nothing to relate to, npar10_train, against the
    single best of the training folds, without cross-validation. cpu_seconds is that of all answers over all
    cores, extra_cpu that of runs beside them, as a share of it.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["error"] is None:
            groups[row["scenario"], row["selector"]].append(row)
    return [_summary(scenario, selector, cells) for (scenario, selector), cells in groups.items()]


def _summary(scenario: str, selector: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    pars = np.array([cell["par"] for cell in cells])
    reference = ReferenceCosts(cells[0]["vbs"], cells[0]["sbs"])
    mean = float(pars.mean())
    with np.errstate(over="ignore"):  # a damaged file may hold any number
        deviation = float(pars.std())
    answers, extra = (sum(cell[name] or 0.0 for cell in cells) for name in ("answer_cpu", "extra_cpu"))
    trained = [cell["sbs_train"] for cell in cells if cell["sbs_train"] is not None]
    in_training = math.nan
    if trained:
        in_training = normalised(mean, ReferenceCosts(reference.vbs, float(np.mean(trained))))
    par, penalty = par_name(cells[0]), cells[0]["penalty"]
    return {
        "scenario": scenario,
        "selector": selector,
        "kind": kind_of(selector),
        "seeds": len(cells),
        **({} if penalty == PENALTY else {"penalty": penalty}),
        f"{par}_mean": mean,
        f"{par}_std": deviation,
        f"re{par}": _finite(relative(mean, reference)),
        f"n{par}": _finite(normalised(mean, reference)),
        f"n{par}_train": _finite(in_training),
        "unsolved": float(np.mean([cell["unsolved"] for cell in cells])),
        "decision_us": float(np.mean([cell["decision_us"] for cell in cells])),
        "cpu_seconds": answers / len(cells),
        "extra_cpu": extra / answers if answers else 0.0,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
