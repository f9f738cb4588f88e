"""Quality against time: median rePARk over scenarios and mean microseconds per decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tailcut.bench.labels import ContenderKind, is_schedule, kind_of, name_of
from tailcut.catalogue import BASELINES
from tailcut.report.numbers.standings import Standing
from tailcut.report.style import look


@dataclass(frozen=True)
class TradeoffPoint:
    """One selector."""

    selector: str
    decision_us: float
    repar_median: float


@dataclass(frozen=True)
class Scatter:
    """One plot: which selectors it shows, under which title."""

    key: str
    title: str
    points: tuple[TradeoffPoint, ...]


def scatters(standings: Sequence[Standing]) -> list[Scatter]:
    """Return the plots of LinUCB variants, of Thompson variants and of the competitors, as far as present."""
    shown = [one for one in standings if not math.isnan(one.decision_us) and not math.isnan(one.repar_median)]
    linucb = [one for one in shown if "LinUCB" in look(one.selector).family]
    thompson = [one for one in shown if look(one.selector).family == "Thompson"]
    others = [one for one in shown if one not in linucb and one not in thompson]
    competitors = linucb[:2] + thompson[:2] + others
    plots = [
        Scatter("tradeoff-linucb", "LinUCB variants", _points(linucb)),
        Scatter("tradeoff-thompson", "Thompson variants", _points(thompson)),
        Scatter("tradeoff-competitors", _title(linucb, thompson, others), _points(competitors)),
    ]
    return [plot for plot in plots if len(plot.points) > 1]


def _title(linucb: Sequence[Standing], thompson: Sequence[Standing], others: Sequence[Standing]) -> str:
    """Return a title that names only what is in the plot."""
    kinds = [name for name, found in (("LinUCB", linucb), ("Thompson", thompson)) if len(found) > 2]
    if not kinds or not others:
        return "All selectors"
    return f"Two best {' and '.join(kinds)} variants and the others"


def _points(standings: Sequence[Standing]) -> tuple[TradeoffPoint, ...]:
    return tuple(TradeoffPoint(one.selector, one.decision_us, one.repar_median) for one in standings)


def featured(standings: Sequence[Standing]) -> list[str]:
    """Return the selectors to draw where all would be too many: ours, and the best of each family.

    Families are those of `style`, the two kinds of LinUCB taken as one; schedules come after those that
    pick once, hindsight baselines last, of the fixed schedules only the best.
    """
    chosen: dict[str, str] = {}
    picks = [one for one in standings if not is_schedule(one.selector)]
    own = [one.selector for one in picks if look(one.selector).family in ("ours", "other")][:4]
    for one in picks:
        family = look(one.selector).family.replace("blind ", "").replace("bc ", "")
        if family not in ("ours", "other", "hindsight"):
            chosen.setdefault(family, one.selector)
    schedules = [one.selector for one in standings if kind_of(one.selector) == ContenderKind.SCHEDULE][:2]
    known = [
        one.selector for one in standings if name_of(one.selector) in BASELINES and one.selector != "sbs_pair"
    ]
    return [*own, *chosen.values(), *schedules, *known]
