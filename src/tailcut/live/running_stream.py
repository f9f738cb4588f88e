"""`tailcut.live.run`: a stream of instances through a portfolio, for your own programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailcut.catalogue import DEFAULT_SELECTOR
from tailcut.journal import Journal
from tailcut.live.instance_record import InstanceRecord, RunRecord
from tailcut.live.instances import Instance, instances_in
from tailcut.live.measure_first import MeasureFirst
from tailcut.live.observer import StreamObserver
from tailcut.live.portfolio import Portfolio, cutoff_of, read_portfolio
from tailcut.live.stream import StreamSettings, run_stream
from tailcut.live.totals import Totals


@dataclass(frozen=True)
class Callbacks:
    """Functions that the thread that called `run` calls when something happens.

    To observe more, override the methods of a `StreamObserver` and pass that instead.
    """

    on_start: Callable[[str, str, float], object] | None = None
    """A solver was started: called with the instance, the solver and its budget in seconds."""
    on_end: Callable[[str, RunRecord], object] | None = None
    """A run has ended and is in the journal: called with the instance and the run."""
    on_answer: Callable[[InstanceRecord], object] | None = None
    """An instance is completed, solved or not: called with its record."""


def run(
    portfolio: Portfolio | str | Path,
    instances: Iterable[str | Path | Instance],
    *,
    state: str | Path = "tailcut-run.db",
    answers: str | Path | None = None,
    outputs: str | Path | None = None,
    cutoff: float | None = None,
    jobs: int = 1,
    parallel: int = 1,
    selector: str | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    warm_start: str | Path | None = None,
    measure_first: MeasureFirst | None = None,
    callbacks: Callbacks | StreamObserver | None = None,
) -> Totals:
    """Run the solvers of a portfolio on instances, as `tailcut run` does; return the totals.

    `portfolio` is a TOML file, or the result of `read_portfolio`. `instances` are files and folders, or
    values of `Instance`, which may have tags, a cutoff and a priority of their own. An iterator is asked for
    the next instance when a worker is free, so a generator may wait for work. Up to `parallel` solvers run at
    once on each of `jobs` instances: the first answer wins. Repeating the call continues where it stopped. An
    exception in a callback ends the stream; what is done is kept. See docs/howto/live.md.
    """
    read = portfolio if isinstance(portfolio, Portfolio) else read_portfolio(portfolio)
    name = selector or read.selector or DEFAULT_SELECTOR
    settings = StreamSettings(name, cutoff_of(read, cutoff), seed, dict(hyperparameters or {}))
    given: Iterable[Instance]
    given = (one for each in instances for one in _instances(each, read))
    if isinstance(instances, list | tuple):
        given = list({one.name: one for one in given}.values())
    with Journal(state) as journal:
        return run_stream(
            journal,
            read,
            settings,
            given,
            Path(state).with_suffix(".jsonl") if answers is None else Path(answers),
            outputs=None if outputs is None else Path(outputs),
            jobs=jobs,
            parallel=parallel,
            observer=_Calling(callbacks) if isinstance(callbacks, Callbacks) else callbacks,
            warm_start=None if warm_start is None else Path(warm_start),
            measure_first=measure_first,
        )


def _instances(each: str | Path | Instance, portfolio: Portfolio) -> Iterable[Instance]:
    if isinstance(each, Instance):
        return [each]
    return instances_in([str(each)], portfolio.instances, models=portfolio.models)


class _Calling(StreamObserver):
    """Calls functions."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks

    def run_started(self, record: InstanceRecord, solver: str, budget: float) -> None:
        if self._callbacks.on_start is not None:
            self._callbacks.on_start(record.instance, solver, budget)

    def run_ended(self, record: InstanceRecord, run: RunRecord) -> None:
        if self._callbacks.on_end is not None:
            self._callbacks.on_end(record.instance, run)

    def instance_over(self, record: InstanceRecord) -> None:
        if self._callbacks.on_answer is not None:
            self._callbacks.on_answer(record)
