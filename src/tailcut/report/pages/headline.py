"""The summary in words: which selector is best, and how it compares with the SBS."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tailcut.bench.labels import ContenderKind, kind_of, labelled, name_of
from tailcut.bench.ranks import Ranking
from tailcut.catalogue import find
from tailcut.display import counted
from tailcut.report.numbers.results import Results
from tailcut.report.numbers.standings import Standing


def headline(results: Results, standings: Sequence[Standing], ranked: Ranking | None) -> list[str]:
    """Return a few sentences, one paragraph each, that claim no more than the numbers show."""
    related = [one for one in standings if not math.isnan(one.npar_mean)]
    contenders = [one for one in related if kind_of(one.selector) == ContenderKind.ONE_PICK]
    schedules = [one for one in related if kind_of(one.selector) == ContenderKind.SCHEDULE]
    par, n = results.par, len(results.scenarios)
    shown = len(results.contenders) + len(results.schedules)
    scope = (
        f"{counted(shown, 'selector')} on {counted(n, 'scenario')}, "
        f"{counted(len(results.seeds), 'seed')} each: {counted(len(results.cells), 'result')}."
    )
    if not related:
        return [
            scope,
            f"No selector has an n{par}: the single best solver is perfect, so there is no gap to "
            "measure against.",
        ]
    if not contenders:
        return [scope, *_schedules(schedules, par)]
    best = contenders[0]
    paragraphs = [scope, _best(best, par), _against_single_best(best)]
    if len(contenders) > 1:
        paragraphs.append(_field(contenders, par, n))
    if ranked is not None:
        paragraphs.append(_significance(ranked))
    return paragraphs + _schedules(schedules, par)


def _best(best: Standing, par: str) -> str:
    return (
        f"{best.selector} has the lowest mean n{par}: {best.npar_mean:.2f} over "
        f"{counted(best.scenarios, 'scenario')} (0 is the best solver for every instance, 1 the single best "
        f"solver, both known only in hindsight). Its median re{par} is {best.repar_median:.2f}, and it "
        f"leaves {best.unsolved:.1%} of the instances unsolved on average.{_blind(best)}{_extra(best)}"
    )


def _extra(best: Standing) -> str:
    """Return a sentence on extra runs, if there were any."""
    if not best.extra_cpu > 0.0:
        return ""
    return f" Extra runs took a further {best.extra_cpu:.1%} of the CPU time of its answers."


def _schedules(schedules: Sequence[Standing], par: str) -> list[str]:
    """Return a paragraph on the schedules, which compete among themselves; none if there are none."""
    if not schedules:
        return []
    best, *others = schedules
    text = (
        f"Schedules may stop a solver early and start another within the same cutoff, so they are listed "
        f"separately: {labelled(best.selector)} has a mean n{par} of {best.npar_mean:.2f} and beats the "
        f"single best solver on {best.beats_sbs} of {counted(best.scenarios, 'scenario')}.{_extra(best)}"
    )
    names = ", ".join(f"{one.selector} {one.npar_mean:.2f}" for one in others[:3])
    return [f"{text} Other schedules: {names}." if others else text]


def _needs_features(best: Standing) -> bool:
    recipe = find(name_of(best.selector))
    return recipe is None or recipe.needs_features


def _and_features(best: Standing) -> str:
    return ", for computing features" if _needs_features(best) else ""


def _blind(best: Standing) -> str:
    if _needs_features(best):
        return ""
    return (
        f" {best.selector} ignores features, and no selector here that uses them has a lower mean; they "
        "differ in other ways too, so this alone does not show that features are useless."
    )


def _against_single_best(best: Standing) -> str:
    beaten = (
        f"{best.selector} beats the single best solver on "
        f"{best.beats_sbs} of {counted(best.scenarios, 'scenario')}."
    )
    if best.npar_mean < 1.0:
        return (
            f"{beaten} On average it is better than knowing the best solver in advance: it closes "
            f"{1.0 - best.npar_mean:.0%} of the gap between the single best and the virtual best solver, "
            f"while learning as it goes."
        )
    return (
        f"{beaten} On average it costs more than always running the best solver, had you known which "
        f"one that is: it pays {best.npar_mean - 1.0:.2f} times the gap between virtual and single "
        f"best in addition, for exploring{_and_features(best)} and for wrong choices. But the single best "
        f"solver is known only after running all solvers; without such data you cannot choose it."
    )


def _field(contenders: Sequence[Standing], par: str, n: int) -> str:
    any_better = [one for one in contenders if one.beats_sbs]
    names = ", ".join(f"{one.selector} {one.npar_mean:.2f}" for one in contenders[1:4])
    most = max((one.beats_sbs for one in contenders), default=0)
    text = f"Next by mean n{par}: {names}."
    if any_better:
        return (
            f"{text} {len(any_better)} of {counted(len(contenders), 'selector')} beat the single best solver"
            + ("." if n == 1 else f" on at least one of the {n} scenarios, none on more than {most}.")
        )
    return f"{text} No selector beats the single best solver on any scenario."


def _significance(ranked: Ranking) -> str:
    best, rank = ranked.selectors[0], ranked.average_ranks[0]
    alike = [
        name
        for name, other in zip(ranked.selectors[1:], ranked.average_ranks[1:], strict=True)
        if other - rank <= ranked.critical_difference
    ]
    differ = "differ" if ranked.friedman_p < ranked.alpha else "cannot be distinguished"
    text = (
        f"By average rank {best} leads with {rank:.2f}. Over {len(ranked.scenarios)} scenarios the selectors "
        f"{differ} (Friedman, p = {ranked.friedman_p:.2g}); average ranks less than "
        f"{ranked.critical_difference:.2f} apart are not significantly different (Nemenyi, "
        f"level {ranked.alpha:g})"
    )
    return f"{text}, so {best} is not significantly better than {', '.join(alike)}." if alike else f"{text}."
