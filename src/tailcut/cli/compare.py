"""``tailcut compare``: ranks and statistics over the scenarios of a result file; choosing settings."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailcut.bench.labels import ContenderKind, hyperparameters_of, labelled
from tailcut.cli.options import JSON, MODULES, import_with_folder

if TYPE_CHECKING:
    from tailcut.bench.ranks import RankedGroup


def command(
    results: Path = typer.Argument(..., metavar="RESULTS"),
    selector: list[str] | None = typer.Option(None, metavar="NAME"),
    leave_out: bool = typer.Option(False, "--leave-out"),
    modules: list[str] | None = MODULES,
    alpha: float = typer.Option(0.05, min=0.0001, max=0.5),
    as_json: JSON = False,
) -> None:
    """Compare the selectors of a result file over its scenarios, by mean PAR10.

    The hindsight baselines know every runtime and do not compete, unless named. Schedules may run several
    algorithms on an instance, so they compete in a separate group; name them together with others to rank all
    in one group.

    Average ranks (1 is best), wins, the Friedman test of whether they differ at all, and the critical
    difference of average ranks (Nemenyi).

    With --leave-out, hyperparameters are chosen: each scenario, and each family of them, is left out in turn
    and scored with the setting of the selector that has the lowest mean nPAR10 on all others. All
    settings must have been run on the same scenarios and seeds, as `tailcut bench --plan settings` does.
    """
    from tailcut.bench.ranks import choose_settings, ranked_groups
    from tailcut.bench.store import opened
    from tailcut.bench.summary import summarise
    from tailcut.report.results import load

    import_with_folder(modules or ())
    with opened(results, read_only=True) as store:
        stored = load(store)
    if leave_out:
        _print_choices(choose_settings(stored.cells, selector), stored.par, as_json=as_json)
        return
    rows = summarise(stored.cells)
    groups = ranked_groups(rows, selector, alpha)
    if as_json:
        main, *others = [group.as_dict() for group in groups]
        typer.echo(json.dumps({**main, "schedules": others[0] if others else None}, indent=2))
    else:
        for group in groups:
            _print_group(group)
    if not selector:
        ranked = {name for group in groups for name in group.kinds}
        kinds = {row["selector"]: row["kind"] for row in rows if row["selector"] not in ranked}
        for kind, why in (
            (ContenderKind.BASELINE, "hindsight baselines, which compete only if named"),
            (ContenderKind.SCHEDULE, "a schedule by itself, which competes only if named"),
            (ContenderKind.ONE_PICK, "a selector by itself, which competes only if named"),
        ):
            _say_left_out(why, [name for name, its in kinds.items() if its is kind])
    left_out = dict.fromkeys(name for group in groups for name in group.left_out)
    _say_left_out("scenarios not run with every selector", left_out)


def _say_left_out(why: str, names: Iterable[str]) -> None:
    listed = ", ".join(names)
    if listed:
        sys.stderr.write(f"left out, {why}: {listed}\n")


def _print_group(group: RankedGroup) -> None:
    from tailcut.cli.views import output, plain_table

    ranking = group.ranking
    schedules = set(group.kinds.values()) == {ContenderKind.SCHEDULE}
    extra, trained = any(group.mean_extra_cpu.values()), bool(group.mean_npar_train)
    headings = (
        "average rank",
        "wins",
        f"mean n{group.par.upper()}",
        *["train"] * trained,
        *["extra CPU"] * extra,
    )
    title = f"{len(ranking.scenarios)} scenarios" + (", schedules" if schedules else "")
    table = plain_table("selector", *headings, title=title)
    for name, rank, wins in zip(ranking.selectors, ranking.average_ranks, ranking.wins, strict=True):
        in_training = group.mean_npar_train.get(name)
        table.add_row(
            labelled(name),
            f"{rank:.2f}",
            str(wins),
            f"{group.mean_npar[name]:.2f}",
            *["-" if in_training is None else f"{in_training:.2f}"] * trained,
            *[f"{group.mean_extra_cpu[name]:.1%}"] * extra,
        )
    output().print(table)
    typer.echo(
        f"Friedman: chi2 = {ranking.friedman_chi2:.2f}, p = {ranking.friedman_p:.3g}. "
        f"Nemenyi: ranks that differ by more than {ranking.critical_difference:.2f} "
        f"differ at the level {ranking.alpha:g}."
    )
    best = ranking.selectors[0]
    own = [pair for pair in ranking.pairs if pair.first == best]
    alike = [f"{labelled(pair.second)} ({pair.p_holm:.2g})" for pair in own if pair.p_holm > ranking.alpha]
    shown = f"; not shown to differ (p): {', '.join(alike)}" if alike else ""
    typer.echo(
        f"Wilcoxon, with Holm's correction: {labelled(best)} differs from {len(own) - len(alike)} of "
        f"{len(own)}{shown}."
    )


def _print_choices(choices: list[dict[str, Any]], par: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(choices, indent=2))
        return
    from tailcut.cli.views import output, plain_table

    headings = (f"mean n{par}", "difference", "± seeds", "± scenarios", "better on")
    for choice in choices:
        title = f"{choice['selector']}: {len(choice['scenarios'])} scenarios, {choice['seeds']} seeds"
        table = plain_table("setting", *headings, title=title)
        default, *others = choice["settings"]
        table.add_row("default", f"{default['npar']:.3f}", end_section=True)
        for one in sorted(others, key=lambda one: float(one["npar"])):
            table.add_row(hyperparameters_of(one["setting"]), *_cells(one))
        table.add_section()
        table.add_row("best on all (optimistic)", *_cells(choice["best"]))
        left_out = [(what, choice[f"by_{what}"]) for what in ("scenario", "family") if choice[f"by_{what}"]]
        for what, score in left_out:
            table.add_row(f"leaving out one {what}", *_cells(score))
        output().print(table)
        for what, score in left_out:
            typer.echo(_chosen(what, score["chosen"]))
        _say_left_out("nothing to normalise by", choice["without_gap"])


def _cells(score: dict[str, Any]) -> tuple[str, ...]:
    difference = score["difference"]
    seeds = "-" if difference["seed_error"] is None else f"{difference['seed_error']:.3f}"
    errors = (f"{difference['mean']:+.3f}", seeds, f"{difference['scenario_error']:.3f}")
    return f"{score['npar']:.3f}", *errors, str(difference["better_on"])


def _chosen(what: str, chosen: dict[str, str]) -> str:
    """Return how often each setting was chosen.

    >>> _chosen("family", {"SAT": "x", "QBF": "x:k=2", "CSP": "x"})
    'Chosen when leaving out one family: default 2, k=2 1 (without QBF).'
    """
    counts = Counter(chosen.values())
    usual = counts.most_common(1)[0][0]
    parts = []
    for setting, count in counts.most_common():
        without = [group for group, label in chosen.items() if label == setting]
        where = "" if setting == usual else f" (without {', '.join(without)})"
        parts.append(f"{hyperparameters_of(setting) or 'default'} {count}{where}")
    return f"Chosen when leaving out one {what}: {', '.join(parts)}."
