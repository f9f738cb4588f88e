"""What ``tailcut compare`` prints for people: ranks, choices of settings, and what is left out of them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tailcut.bench.labels import ContenderKind, hyperparameters_of, labelled
from tailcut.bench.leave_out import Difference, LeftOut, SettingsChoice
from tailcut.bench.ranks import RankedGroup, Ranking


def say_who_is_left_out(kinds: Mapping[str, ContenderKind], groups: Sequence[RankedGroup]) -> None:
    """Say on standard error who is in the file and not compared, and why."""
    ranked = {name for group in groups for name in group.kinds}
    for kind, why in (
        (ContenderKind.BASELINE, "hindsight baselines, which compete only if named"),
        (ContenderKind.SCHEDULE, "a schedule by itself, which competes only if named"),
        (ContenderKind.ONE_PICK, "a selector by itself, which competes only if named"),
    ):
        say_left_out(why, [name for name, its in kinds.items() if its is kind and name not in ranked])


def say_left_out(why: str, names: Iterable[str]) -> None:
    """Say on standard error what is left out, unless that is nothing."""
    listed = ", ".join(names)
    if listed:
        sys.stderr.write(f"left out, {why}: {listed}\n")


def print_group(group: RankedGroup) -> None:
    """Print the ranks of a group, and from which difference on they count."""
    ranking = group.ranking
    schedules = set(group.kinds.values()) == {ContenderKind.SCHEDULE}
    table = Table(title=f"{len(ranking.scenarios)} scenarios" + (", schedules" if schedules else ""))
    table.add_column("selector", overflow="fold")
    extra, trained = any(group.mean_extra_cpu.values()), bool(group.mean_npar10_train)
    for heading in ("average rank", "wins", "mean nPAR10", *["train"] * trained, *["extra CPU"] * extra):
        table.add_column(heading, justify="right")
    for name, rank, wins in zip(ranking.selectors, ranking.average_ranks, ranking.wins, strict=True):
        in_training = group.mean_npar10_train.get(name)
        table.add_row(
            labelled(name),
            f"{rank:.2f}",
            str(wins),
            f"{group.mean_npar10[name]:.2f}",
            *["-" if in_training is None else f"{in_training:.2f}"] * trained,
            *[f"{group.mean_extra_cpu[name]:.1%}"] * extra,
        )
    Console().print(table)
    typer.echo(
        f"Friedman: chi2 = {ranking.friedman_chi2:.2f}, p = {ranking.friedman_p:.3g}. "
        f"Nemenyi: ranks that differ by more than {ranking.critical_difference:.2f} "
        f"differ at the level {ranking.alpha:g}."
    )
    typer.echo(_pairs_said(ranking))


def _pairs_said(ranking: Ranking) -> str:
    """Say from which others the best ranked differs."""
    best = ranking.selectors[0]
    own = [pair for pair in ranking.pairs if pair.first == best]
    alike = [f"{labelled(pair.second)} ({pair.p_holm:.2g})" for pair in own if pair.p_holm > ranking.alpha]
    differs = f"{labelled(best)} differs from {len(own) - len(alike)} of {len(own)}"
    said = f"Wilcoxon, with Holm's correction: {differs}"
    return f"{said}; not shown to differ (p): {', '.join(alike)}." if alike else f"{said}."


def print_choices(found: list[SettingsChoice], par: str, *, as_json: bool) -> None:
    """Print the choices, each as a table and what was chosen, or as one JSON list."""
    if as_json:
        typer.echo(json.dumps([asdict(choice) for choice in found], indent=2))
        return
    console = Console(width=None if sys.stdout.isatty() else 100)
    for choice in found:
        console.print(_choice_table(choice, par))
        for what, left_out in (("scenario", choice.by_scenario), ("family", choice.by_family)):
            if left_out is not None:
                typer.echo(_said(what, left_out))
        say_left_out("nothing to normalise by", choice.without_gap)


def _choice_table(choice: SettingsChoice, par: str) -> Table:
    title = f"{choice.selector}: {len(choice.scenarios)} scenarios, {choice.seeds} seeds"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    table.add_column("setting", no_wrap=True)
    for heading in (f"mean n{par}", "difference", "± seeds", "± scenarios", "better on"):
        table.add_column(heading, justify="right", no_wrap=True)
    default, *others = choice.settings
    table.add_row("default", f"{default.npar:.3f}", end_section=True)
    for one in sorted(others, key=lambda one: one.npar):
        table.add_row(hyperparameters_of(one.setting), f"{one.npar:.3f}", *_cells(one.difference))
    table.add_section()
    best = choice.best
    table.add_row("best on all (optimistic)", f"{best.npar:.3f}", *_cells(best.difference))
    for what, left_out in (("scenario", choice.by_scenario), ("family", choice.by_family)):
        if left_out is not None:
            table.add_row(f"leaving out one {what}", f"{left_out.npar:.3f}", *_cells(left_out.difference))
    return table


def _cells(difference: Difference) -> tuple[str, str, str, str]:
    seeds = "-" if difference.seed_error is None else f"{difference.seed_error:.3f}"
    return f"{difference.mean:+.3f}", seeds, f"{difference.scenario_error:.3f}", str(difference.better_on)


def _said(what: str, left_out: LeftOut) -> str:
    """Say how often each setting was chosen.

    >>> least = Difference(0.0, None, 0.0, 0)
    >>> _said("family", LeftOut(1.0, least, {"SAT": "x", "QBF": "x:k=2", "CSP": "x"}))
    'Chosen when leaving out one family: default 2, k=2 1 (without QBF).'
    """
    counts = Counter(left_out.chosen.values())
    usual = counts.most_common(1)[0][0]
    parts = []
    for setting, count in counts.most_common():
        without = [group for group, label in left_out.chosen.items() if label == setting]
        where = "" if setting == usual else f" (without {', '.join(without)})"
        parts.append(f"{hyperparameters_of(setting) or 'default'} {count}{where}")
    return f"Chosen when leaving out one {what}: {', '.join(parts)}."
