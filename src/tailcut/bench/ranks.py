"""Comparing selectors over scenarios, and choosing the settings of one while leaving scenarios out.

Average ranks, wins, Friedman, Nemenyi and pairwise Wilcoxon are after Demšar, "Statistical comparisons of
classifiers over multiple data sets", JMLR 2006.

The setting that is best on all scenarios looks better than it is, because it was chosen on what it is
measured on. So each scenario in turn is left out, the setting that is best on the others is taken, and only
its result on the one left out counts. Scenarios of one kind are alike, so families are left out, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, compress
from typing import Any

import numpy as np

from tailcut.bench.labels import ContenderKind, default_of
from tailcut.bench.summary import ReferenceCosts, normalised, par_name
from tailcut.errors import InputError
from tailcut.types import Array

SummaryRow = dict[str, Any]
"""One row of `tailcut.bench.summary.summarise`."""


@dataclass(frozen=True)
class PairTest:
    """Two selectors on the same scenarios."""

    first: str
    second: str
    wins: int
    """Scenarios on which the first is better."""
    losses: int
    p: float
    """Of Wilcoxon's test, two-sided; 1 where the two never differ."""
    p_holm: float
    """Corrected for all pairs (Holm, 1979): those up to the level differ."""


@dataclass(frozen=True)
class Ranking:
    """k selectors on N scenarios, the lower the better."""

    selectors: tuple[str, ...]
    """In the order of their average rank."""
    scenarios: tuple[str, ...]
    average_ranks: tuple[float, ...]
    wins: tuple[int, ...]
    """Scenarios on which each is best (ties count for all)."""
    friedman_chi2: float
    friedman_p: float
    critical_difference: float
    """Average ranks that differ by more differ significantly (Nemenyi)."""
    alpha: float
    pairs: tuple[PairTest, ...] = ()
    """Wilcoxon's tests of all pairs, the better ranked first."""


def rank(values: Array, selectors: list[str], scenarios: list[str], alpha: float = 0.05) -> Ranking:
    from scipy import stats  # slow to import

    n, k = values.shape
    if n < 2 or k < 2:
        raise InputError(f"a comparison needs at least 2 scenarios and 2 selectors, got {n} and {k}")
    ranks = stats.rankdata(values, axis=1)
    average = ranks.mean(axis=0)
    wins = (values == values.min(axis=1, keepdims=True)).sum(axis=0)
    # Friedman's chi-squared, corrected for ties; scipy's refuses two selectors.
    between = n * float(((average - (k + 1) / 2) ** 2).sum())
    within = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    chi2 = between / within if within > 0.0 else 0.0
    # Nemenyi's difference takes the studentised range for infinite degrees of freedom.
    q = float(stats.studentized_range.isf(alpha, k, np.inf)) / math.sqrt(2.0)
    order = np.argsort(average, kind="stable")
    return Ranking(
        selectors=tuple(selectors[i] for i in order),
        scenarios=tuple(scenarios),
        average_ranks=tuple(average[order].tolist()),
        wins=tuple(wins[order].tolist()),
        friedman_chi2=chi2,
        friedman_p=float(stats.chi2.sf(chi2, k - 1)),
        critical_difference=q * math.sqrt(k * (k + 1) / (6.0 * n)),
        alpha=alpha,
        pairs=pair_tests(values[:, order], [selectors[i] for i in order]),
    )


def pair_tests(values: Array, selectors: list[str]) -> tuple[PairTest, ...]:
    """Return the tests of all pairs, in the order of `selectors`, by `values` of shape (N scenarios, k)."""
    from scipy import stats  # slow to import

    pairs = list(combinations(range(len(selectors)), 2))
    differences = [values[:, i] - values[:, j] for i, j in pairs]
    ps = np.array([stats.wilcoxon(one).pvalue if one.any() else 1.0 for one in differences])
    tests = []
    for (i, j), one, p, p_holm in zip(pairs, differences, ps.tolist(), _holm(ps).tolist(), strict=True):
        wins, losses = int((one < 0.0).sum()), int((one > 0.0).sum())
        tests.append(PairTest(selectors[i], selectors[j], wins, losses, p, p_holm))
    return tuple(tests)


def _holm(ps: Array) -> Array:
    """Return p-values that may be compared with the level as they are."""
    order = np.argsort(ps)
    steps = np.maximum.accumulate(ps[order] * np.arange(len(ps), 0, -1))
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


@dataclass(frozen=True)
class RankedGroup:
    """Contenders that are ranked among each other, and what else is said of them."""

    ranking: Ranking
    mean_npar: dict[str, float]
    """Over the scenarios where it is defined, by contender."""
    mean_npar_train: dict[str, float]
    """The same against the single best of the training folds; of those judged by cross-validation."""
    mean_extra_cpu: dict[str, float]
    """CPU time beside the answers, as a share of theirs, over all scenarios, by contender."""
    kinds: dict[str, ContenderKind]
    left_out: tuple[str, ...]
    """Scenarios that not every contender of the group has a result for."""
    par: str = "par10"
    """The name of the loss."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, without nesting the ranking; the loss has its full name."""
        plain = asdict(self)
        par = plain.pop("par")
        return {
            **plain.pop("ranking"),
            **{key.replace("npar", f"n{par}"): value for key, value in plain.items()},
        }


def ranked_groups(
    rows: Sequence[SummaryRow], names: Sequence[str] | None = None, alpha: float = 0.05
) -> list[RankedGroup]:
    """Rank the contenders named; else those that pick once and, if two or more, the schedules apart."""
    present = list(dict.fromkeys(row["selector"] for row in rows))
    unknown = [name for name in names or () if name not in present]
    if unknown:
        raise InputError(f"no results of {', '.join(unknown)}; there are: {', '.join(present)}")
    if names:
        return [_ranked([row for row in rows if row["selector"] in names], alpha)]
    picks, schedules = (
        [row for row in rows if row["kind"] == kind]
        for kind in (ContenderKind.ONE_PICK, ContenderKind.SCHEDULE)
    )
    several = len({row["selector"] for row in schedules}) > 1
    groups = [group for group in (picks, schedules if several else []) if group] or [picks]
    return [_ranked(group, alpha) for group in groups]


def _ranked(rows: Sequence[SummaryRow], alpha: float) -> RankedGroup:
    """Rank the rows by PARk over the scenarios for which every selector has a result."""
    par = par_name(rows[0]) if rows else "par10"
    selectors = list(dict.fromkeys(row["selector"] for row in rows))
    table = {(row["scenario"], row["selector"]): row[f"{par}_mean"] for row in rows}
    scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
    complete = [name for name in scenarios if all((name, selector) in table for selector in selectors)]
    values = np.array([[table[name, selector] for selector in selectors] for name in complete])
    ranking = rank(values.reshape(len(complete), len(selectors)), selectors, complete, alpha)

    def mean(column: str) -> dict[str, float]:
        values: dict[str, list[float]] = {name: [] for name in ranking.selectors}
        for row in rows:
            if row[column] is not None:
                values[row["selector"]].append(row[column])
        return {name: float(np.mean(own)) for name, own in values.items() if own}

    return RankedGroup(
        ranking=ranking,
        mean_npar={**dict.fromkeys(ranking.selectors, math.nan), **mean(f"n{par}")},
        mean_npar_train=mean(f"n{par}_train"),
        mean_extra_cpu=mean("extra_cpu"),
        kinds={row["selector"]: row["kind"] for row in rows},
        left_out=tuple(name for name in scenarios if name not in complete),
        par=par,
    )


_NAMED = 5
"""Missing cells that an error names; of more it gives the number."""


def family(scenario: str) -> str:
    """Return the kind of problem, by the letters that an ASlib name begins with.

    >>> [family(name) for name in ("SAT11-HAND", "SAT18-EXP", "MAXSAT-PMS-2016", "2sat")]
    ['SAT', 'SAT', 'MAXSAT', '2sat']
    """
    letters = re.match(r"[^\W\d_]+", scenario)
    return letters.group() if letters else scenario


def choose_settings(
    rows: Iterable[dict[str, Any]], selectors: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Return the choice for each of the selectors, or for all with two settings or more, by name.

    A choice is what `choose` returns of finished cells (`Store.rows`), with the selector, and in without_gap
    the scenarios whose best algorithm is always the same: nothing can be normalised there.
    """
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(default_of(row["selector"]), []).append(row)
    several = sorted(name for name, own in by_name.items() if len({row["selector"] for row in own}) > 1)
    chosen = list(selectors or several)
    lacking = [name for name in chosen if name not in several]
    if lacking or not chosen:
        what = f"{', '.join(lacking)}: " if lacking else ""
        there = f"selectors that have these: {', '.join(several) or 'none'}"
        raise InputError(f"{what}choosing needs the default and another setting; {there}")
    return [_chosen(name, by_name[name]) for name in chosen]


def _chosen(selector: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the choice from the finished cells of one selector, or say which are missing."""
    cells = {(row["selector"], row["scenario"], row["seed"]): row for row in rows}
    settings = sorted({row["selector"] for row in rows}, key=lambda label: (label != selector, label))
    scenarios, seeds = ([*sorted({row[key] for row in rows})] for key in ("scenario", "seed"))
    if settings[0] != selector:
        raise InputError(f"{selector}: no results of the default, only of {', '.join(settings)}")
    wanted = [(label, name, seed) for label in settings for name in scenarios for seed in seeds]
    missing = [key for key in wanted if key not in cells]
    if missing:
        named = "; ".join(f"{label} on {scenario}, seed {seed}" for label, scenario, seed in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise InputError(f"{selector}: missing are {named}{more}")
    rows = [cells[key] for key in wanted]
    npar = np.array([normalised(row["par"], ReferenceCosts(row["vbs"], row["sbs"])) for row in rows])
    npar = npar.reshape(len(settings), len(scenarios), len(seeds))
    gap = np.isfinite(npar).all(axis=(0, 2))
    kept = [*compress(scenarios, gap)]
    if len(kept) < 2:
        got = ", ".join(kept) or "none"
        raise InputError(f"{selector}: leaving scenarios out needs at least 2 of them, got {got}")
    choice = {"selector": selector, **choose(settings, kept, npar[:, gap])}
    return {**choice, "without_gap": [*compress(scenarios, ~gap)]}


def choose(settings: Sequence[str], scenarios: Sequence[str], npar: Array) -> dict[str, Any]:
    """Return what each of L settings, the default first, is worth, and what choosing among them is.

    `npar` is of shape (L, S, R), for S scenarios and R seeds. A score is the mean npar and the difference to
    the default; by_scenario and by_family have those of `leave_out`, None where all are of one family.
    """
    scored = [{"setting": label, **_score(own, npar[0])} for label, own in zip(settings, npar, strict=True)]
    several = len({family(name) for name in scenarios}) > 1
    return {
        "scenarios": scenarios,
        "seeds": npar.shape[2],
        "settings": scored,
        "best": min(scored, key=lambda one: float(one["npar"])),
        "by_scenario": leave_out(settings, scenarios, npar, lambda name: name),
        "by_family": leave_out(settings, scenarios, npar, family) if several else None,
    }


def leave_out(
    settings: Sequence[str], scenarios: Sequence[str], npar: Array, group_of: Callable[[str], str]
) -> dict[str, Any]:
    """Score each group of scenarios with the setting that is best on all others, the default if it ties.

    Beside the score, `chosen` has the setting taken for each group.
    """
    means = npar.mean(axis=2)
    groups = np.array([group_of(name) for name in scenarios])
    taken = np.zeros(len(groups), dtype=np.intp)
    chosen = {}
    for group in dict.fromkeys(groups.tolist()):
        best = int(means[:, groups != group].mean(axis=1).argmin())
        taken[groups == group] = best
        chosen[group] = settings[best]
    return {**_score(npar[taken, np.arange(len(groups))], npar[0]), "chosen": chosen}


def _score(npar: Array, default: Array) -> dict[str, Any]:
    return {"npar": float(npar.mean()), "difference": difference(npar, default)}


def difference(npar: Array, default: Array) -> dict[str, Any]:
    """Return how much more is paid than with the default on the same streams; shapes (S, R) with S >= 2.

    seed_error is the standard error of the mean from the spread over the seeds within each scenario, None for
    one seed; scenario_error, from the spread over the scenarios, is that for new scenarios.
    """
    excess = npar - default
    means = excess.mean(axis=1)
    n_scenarios, n_seeds = excess.shape
    within = None
    if n_seeds > 1:
        within = math.sqrt(float(excess.var(axis=1, ddof=1).sum()) / n_seeds) / n_scenarios
    return {
        "mean": float(means.mean()),
        "seed_error": within,
        "scenario_error": float(means.std(ddof=1)) / math.sqrt(n_scenarios),
        "better_on": int((means < 0.0).sum()),
    }
