"""Options that several commands have, and what they choose: scenarios, solvers, modules, executors."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailcut.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from tailcut.bench.benchmark import Executor
    from tailcut.live.engine import ProgramExecutor
    from tailcut.live.portfolio import Portfolio

ASLIB: Any = typer.Option(None, "--aslib", envvar="TAILCUT_ASLIB", metavar="DIR")
JSON = Annotated[bool, typer.Option("--json")]
MODULES: Any = typer.Option(None, "--import", metavar="MODULE")

CELLS = ("inline", "processes", "dask")
"""Where cells of a benchmark can be computed."""
RUNS = ("processes", "dask")
"""Where solvers can run."""


def show(found: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print what was found as JSON for programs, or as lines for people."""
    for line in [json.dumps(found, indent=2)] if as_json else lines:
        typer.echo(line)


def existing(aslib: Path | None) -> Path:
    """Return the folder of scenarios; an error says how to name it."""
    if aslib is None:
        raise InputError("no ASlib folder: give --aslib DIR or set the environment variable TAILCUT_ASLIB")
    if not aslib.is_dir():
        raise InputError(f"--aslib {aslib}: no such folder")
    return aslib


def or_bundled(aslib: Path | None, wanted: Sequence[str] = ()) -> Path:
    """Return the folder, or that of the bundled scenario if none is named and no other one is wanted."""
    from tailcut.scenarios import bundled
    from tailcut.scenarios.aslib_reader import names_in

    if aslib is not None:
        return existing(aslib)
    present = names_in(bundled.FOLDER)
    for name in wanted:
        if name not in present:
            raise InputError(
                f"scenario {name}{did_you_mean(name, present)} is not bundled, {', '.join(present)} is: give "
                "--aslib DIR or set the environment variable TAILCUT_ASLIB to the folder that holds it; "
                f"`tailcut scenario fetch {name} --to DIR` fetches it"
            )
    return bundled.FOLDER


def scenario_folder(given: str, aslib: Path | None) -> Path:
    """Return the folder of a scenario that is given by its path, or by its name in --aslib."""
    from tailcut.scenarios.aslib_reader import names_in

    path = Path(given)
    if path.exists() or path.name != given:
        return path
    folder = or_bundled(aslib, [given])
    if given not in names_in(folder):
        question = did_you_mean(given, names_in(folder))
        raise InputError(f"{given}{question} is neither a folder here nor a scenario in {folder}")
    return folder / given


def recorded_runs(given: str, aslib: Path | None) -> Path:
    """Return the folder of the scenario, or the state file, that --warm-start names."""
    path = Path(given)
    if path.suffix == ".db" and not path.exists():
        raise InputError(f"--warm-start {given}: there is no such state file")
    return path if path.is_file() else scenario_folder(given, aslib)


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be a folder to write into: {error.strerror}") from None


def import_with_folder(modules: Sequence[str]) -> None:
    """Import the user's modules; those of the current folder are found as by `python -m`.

    Processes started later get the same search path.
    """
    from tailcut.bench.benchmark import import_selectors

    if modules and not {"", str(Path.cwd())} & set(sys.path):
        sys.path.insert(0, str(Path.cwd()))
    import_selectors(modules)


def chosen_portfolio(
    domain: str | None, portfolio: str | None, instances: list[str] | None
) -> tuple[Portfolio, list[str]]:
    """Return the portfolio of the domain, or of the file that comes before the instances; and these."""
    from tailcut.live.portfolio import domain_portfolio, found_words, read_portfolio

    given = list(instances or [])
    if domain is not None:
        read = domain_portfolio(domain)
        sys.stderr.write(f"{found_words(domain)}\n")
        return read, given if portfolio is None else [portfolio, *given]
    if portfolio is None:
        raise InputError("there is nothing to run: give a portfolio file, or --domain, see `tailcut domains`")
    if Path(portfolio).is_dir():
        raise InputError(
            f"{portfolio}: is a folder; give a portfolio file before the instances, or --domain NAME"
        )
    return read_portfolio(Path(portfolio)), given


def check_executor(name: str, known: tuple[str, ...], scheduler: str | None, *, ship: bool = False) -> None:
    if name not in known:
        raise InputError(f"unknown executor {name!r}; known: {', '.join(known)}")
    for option, given in {"--scheduler": scheduler is not None, "--ship-instances": ship}.items():
        if given and name != "dask":
            raise InputError(f"{option} is for --executor dask, not for {name}")


@contextmanager
def cell_executor(
    name: str, scheduler: str | None, jobs: int, modules: Sequence[str] = ()
) -> Iterator[Executor]:
    """Give the executor that the options name; what was started for it ends with the context."""
    if name != "dask":
        from tailcut.bench.benchmark import inline, local

        yield inline if name == "inline" else local(jobs, modules)
        return
    with _cluster(scheduler, jobs) as client:
        from tailcut.cluster.cell_executor import dask_cell_executor

        yield dask_cell_executor(client, modules)


@contextmanager
def program_executor(
    name: str, scheduler: str | None, jobs: int | None, portfolio: Portfolio, *, ship: bool = False
) -> Iterator[tuple[ProgramExecutor, int]]:
    """Yield where programs run, and how many run at once: `jobs`, or what suits it."""
    if name != "dask":
        from tailcut.live.engine import LocalProgramExecutor

        with LocalProgramExecutor.of(portfolio) as here:
            yield here, jobs or 1
        return
    with _cluster(scheduler, jobs or os.cpu_count() or 1) as client:
        from tailcut.cluster.program_executor import DaskProgramExecutor

        preload, folder = portfolio.preload, portfolio.folder
        with DaskProgramExecutor(client, preload, modules=folder, ship=ship) as there:
            yield there, jobs or max(1, sum(client.nthreads().values()))


@contextmanager
def _cluster(scheduler: str | None, workers: int) -> Iterator[Any]:
    """Connect; what is logged meanwhile is printed on standard error, out of the way of results."""
    from tailcut.cluster import connected

    log, handler = logging.getLogger("tailcut.cluster"), logging.StreamHandler()
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        with connected(scheduler, workers=workers) as client:
            yield client
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before


@contextmanager
def stoppable(words: str = "") -> Iterator[None]:
    """Within, SIGTERM and SIGHUP count as Ctrl-C, which closes all in order and exits with code 130.

    One that is ignored, as under nohup, stays so.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"{words}\n" if words else "")
        raise typer.Exit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
