"""Writing a report: tables in four formats, figures in up to three, and the page that holds them all."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailcut.bench.labels import labelled
from tailcut.display import counted
from tailcut.report.figures.canvas import FORMATS, with_svg
from tailcut.report.figures.drawings import Figures, drawings, read_svgs, render_all, slug
from tailcut.report.numbers.gather import Report, ScenarioPart
from tailcut.report.pages.headline import headline
from tailcut.report.pages.html_page import Section, bullets, details, figure, page, paragraphs, table
from tailcut.report.pages.missing import left_out
from tailcut.report.progress import SILENT, ReportProgress
from tailcut.report.tables.extra_cpu_sheet import extra_cpu_sheet
from tailcut.report.tables.formats import write_tables
from tailcut.report.tables.pairs_sheet import pairs_sheet
from tailcut.report.tables.sheet import Sheet, grid_sheet, scenarios_sheet, schedules_sheet, standings_sheet


def sheets(report: Report) -> list[Sheet]:
    """Return all tables of a report."""
    par = report.results.par
    schedules = schedules_sheet(report.standings, par)
    pairs = pairs_sheet(report.ranked, par)
    extra = extra_cpu_sheet(report.grids, [part.description for part in report.scenarios], par)
    return [
        standings_sheet(report.standings, par),
        *([] if schedules is None else [schedules]),
        *([] if pairs is None else [pairs]),
        *([] if extra is None else [extra]),
        *(
            grid_sheet(grid, par, report.ranked)
            for grid in report.grids.values()
            if grid.metric != "extra_cpu"
        ),
        scenarios_sheet([part.description for part in report.scenarios], par),
    ]


def write_results_page(
    report: Report,
    out: Path,
    *,
    formats: Sequence[str] = FORMATS,
    jobs: int = 1,
    source: str = "results.db",
    progress: ReportProgress = SILENT,
) -> Path:
    """Write the report into the folder `out` and return its page; SVG is always made, for the page."""
    tables = sheets(report)
    write_tables(tables, out / "tables")
    found = drawings(report)
    render_all(found, out / "figures", with_svg(formats), jobs, progress)
    path = out / "index.html"
    path.write_text(_page(report, tables, read_svgs(found, out / "figures"), source), encoding="utf-8")
    return path


def _page(report: Report, tables: Sequence[Sheet], figures: Figures, source: str) -> str:
    by_key = {sheet.key: sheet for sheet in tables}
    summary, overview = by_key.pop("summary"), by_key.pop("scenarios")
    schedules, extra = by_key.pop("schedules", None), by_key.pop("extra-cpu", None)
    absent = left_out(report)
    words = paragraphs(headline(report.results, report.standings, report.ranked))
    tradeoff = "".join(shown(figures, name) for name in figures if name.startswith("tradeoff"))
    sweeps = "".join(shown(figures, name) for name in figures if name.startswith("sensitivity"))
    pairs = by_key.pop("wilcoxon", None)
    tests = "" if pairs is None else table(pairs)
    compared = shown(figures, "critical-difference") + tests + shown(figures, "regret-overview")
    compared += f'<div class="two">{tradeoff}</div>' if tradeoff else ""
    sections = [
        Section("summary", "In short", shown(figures, "npar10") + words + table(summary)),
        *([Section("comparison", "Comparison", compared)] if compared else []),
        Section("tables", "Tables", "".join(table(sheet) for sheet in by_key.values())),
        Section("scenarios", "Scenarios", table(overview) + _scenarios(report, figures)),
        *explained_section(report, figures),
        Section("reproduce", "How to reproduce it", reproduce(report, source)),
        Section("left-out", "Left out, missing or failed", bullets(absent) or "<p>Nothing.</p>"),
    ]
    after = 2 if compared else 1
    if extra is not None:
        body = shown(figures, "extra-cpu") + table(extra)
        sections.insert(after, Section("extra-cpu", "Extra CPU time", body))
    if schedules is not None:
        sections.insert(after, Section("schedules", "Schedules", table(schedules)))
    if sweeps:
        sections.insert(after, Section("sensitivity", "Sensitivity to hyperparameters", sweeps))
    warning = ""
    if report.results.failed or report.results.missing():
        warning = '<p class="warn">Some results are missing: <a href="#left-out">see below</a>.</p>'
    return page(f"Tailcut report: {report.results.par} of online algorithm selection", warning, sections)


def explained_section(report: Report, figures: Figures) -> list[Section]:
    """Return a few decisions in words and figures, if the report has any."""
    found = report.explained
    if found is None:
        return []
    words = (
        f"Some decisions of {labelled(found.selector)} on {found.scenario}, instances in the order of seed "
        f"{found.seed}: what it believed when it chose. In your own code, call decision.explain()."
    )
    drawn = [name for name in figures if name.startswith("explained-")]
    body = "".join(
        shown(figures, name) + f"<pre>{html.escape(one.explanation.text())}</pre>"
        for name, one in zip(drawn, found.decisions, strict=True)
    )
    return [Section("explained", "Decisions explained", paragraphs([words]) + body)]


def shown(figures: Figures, name: str) -> str:
    """Return a drawing as HTML, or nothing if it was not made."""
    if name not in figures:
        return ""
    return figure(*figures[name], mark=f"f{list(figures).index(name)}")


def _scenarios(report: Report, figures: Figures) -> str:
    alone = len(report.scenarios) == 1
    return "".join(_scenario(part, report, figures, opened=alone) for part in report.scenarios)


def _scenario(part: ScenarioPart, report: Report, figures: Figures, *, opened: bool) -> str:
    end = slug(part.name)
    kinds = ("instances", "regret", "solved", "choices", "survival")
    drawn = "".join(shown(figures, f"{kind}-{end}") for kind in kinds)
    body = paragraphs([_in_words(part, report)]) + f'<div class="two">{drawn}</div>'
    return details(
        f"scenario-{end}", part.name, body + bullets([f"{note}." for note in part.notes]), opened=opened
    )


def _in_words(part: ScenarioPart, report: Report) -> str:
    known = part.description
    grid = report.grids["par"]
    row = grid.scenarios.index(part.name)
    best = sorted(grid.placed(row)[0])
    text = f"{known['instances']} instances, {len(part.algorithms)} algorithms"
    text += f", cutoff {known['cutoff']:g} s. " if "cutoff" in known else ". "
    named = f" ({known['sbs']})" if "sbs" in known else ""
    text += f"The single best solver{named} has a {report.results.par} of {known['sbs_par']:.2f} s"
    text += f", the virtual best {known['vbs_par']:.2f} s. "
    if best:
        names = ", ".join(grid.selectors[j] for j in best)
        value, relation = grid.mean[row, best[0]], report.grids["npar"].mean[row, best[0]]
        text += f"Best selector: {names} with {value:.2f} s"
        text += "." if math.isnan(relation) else f" (n{report.results.par} {relation:.2f})."
    return text


def reproduce(report: Report, source: str) -> str:
    """Return seeds, commands, versions and machine, as far as the result file knows them."""
    results = report.results
    compared = {cell.hash for cell in results.cells}
    swept = {cell.hash for cells in results.sweeps.values() for cell in cells} - compared
    seeds = f"Seeds: {', '.join(map(str, results.seeds))}; each shuffles the instances."
    note = (
        f"The numbers come from {source}: {counted(len(results.cells), 'result')} of the comparison"
        f"{f' and {len(swept)} more of sweeps' if swept else ''}. {seeds}"
    )
    notes = [note]
    if results.unattributed:
        notes.append(
            f"For {counted(results.unattributed, 'result')} the file does not record the command, versions "
            "and machine."
        )
    runs = "".join(f"<pre>{html.escape(_run(run))}</pre>" for run in _distinct(results.runs))
    return paragraphs(notes) + runs


def _distinct(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs without those that only repeat an earlier one at another time."""
    seen: dict[str, dict[str, Any]] = {}
    for run in runs:
        seen.setdefault(str({key: value for key, value in run.items() if key != "started"}), run)
    return list(seen.values())


def _run(run: dict[str, Any]) -> str:
    lines = [f"$ {run.get('command', '?')}"]
    lines += [f"{key}: {value}" for key, value in run.items() if key != "command"]
    return "\n".join(lines)
