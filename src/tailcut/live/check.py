"""Checking a portfolio before it is used: features and every solver on a tiny instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tailcut.domains.domain import EXIT_CODE_0_SOLVES, answers_agree
from tailcut.errors import InputError
from tailcut.live import engine
from tailcut.live.engine import LocalProgramExecutor, ProgramExecutor
from tailcut.live.instances import Instance
from tailcut.live.limits import Ended, Ending
from tailcut.live.portfolio import SECONDS_ON_TINY, Portfolio, Program, Solver

_UNREAD = "no answer could be read"


@dataclass(frozen=True)
class Tried:
    """The result of a program on a tiny instance."""

    program: str
    """A solver's name, or `features`."""
    instance: str
    seconds: float
    answer: str | None
    ending: str
    problem: str | None


@dataclass(frozen=True)
class PortfolioCheck:
    method: str
    tried: tuple[Tried, ...]
    silent: tuple[str, ...]
    """Solvers without any answer; a solver that cannot answer every instance must answer at least one."""
    notes: tuple[str, ...] = ()
    """What to write into the portfolio file so that answers are read as intended."""

    @property
    def passed(self) -> bool:
        return not self.silent and not any(one.problem for one in self.tried)


def check_portfolio(portfolio: Portfolio, instances: Sequence[Instance] = ()) -> PortfolioCheck:
    """Try the features and every solver on each instance; by default on the portfolio's tiny ones."""
    known: list[tuple[Instance, str | None]] = [(instance, None) for instance in instances]
    for tiny in portfolio.check if not instances else ():
        if not tiny.path.is_file():
            raise InputError(f"{tiny.path}: there is no such instance to check with")
        known.append((Instance(tiny.path.name, tiny.path.absolute()), tiny.answer))
    if not known:
        raise InputError(
            f"{portfolio.file}: nothing to try the solvers on: give an instance after the portfolio, "
            "or write [check] instance = ..."
        )
    programs: list[Program | Solver] = [*portfolio.solvers.values()]
    if portfolio.features is not None:
        programs.insert(0, portfolio.features)
    tried: list[Tried] = []
    with LocalProgramExecutor(portfolio.preload, portfolio.folder) as executor:
        work = (
            partial(_tried, executor, portfolio, program, instance, expected)
            for instance, expected in known
            for program in programs
        )
        engine.run_all(work, at_once=1, on_result=tried.append)
        method = executor.method
    answered = {one.program for one in tried if one.answer is not None}
    silent = tuple(name for name in portfolio.solvers if name not in answered)
    return PortfolioCheck(method, tuple(tried), silent, tuple(_notes(portfolio, tried)))


def _notes(portfolio: Portfolio, tried: Sequence[Tried]) -> Iterator[str]:
    unread = {one.program for one in tried if (one.problem or "").startswith(_UNREAD)}
    for name, solver in portfolio.solvers.items():
        if name in unread:
            kinds = " or ".join(dict.fromkeys(rule.kind for rule in solver.answers))
            yield (
                f"to describe the answers of {name}, write a table [solvers.{name}.answers.ANSWER] with "
                f"exit_code or pattern; ANSWER is {kinds} here"
            )
    if plain := [name for name, solver in portfolio.solvers.items() if solver.answers == EXIT_CODE_0_SOLVES]:
        yield (
            f"exit code 0 means solved for {', '.join(plain)}: if a run can end with 0 and no solution, "
            "describe the answers in tables [answers.ANSWER]"
        )


async def _tried(
    place: ProgramExecutor,
    portfolio: Portfolio,
    program: Program | Solver,
    instance: Instance,
    expected: str | None,
) -> Tried:
    if isinstance(program, Program):
        name, job = "features", engine.features_job(portfolio, program, instance, SECONDS_ON_TINY)
        ended = await place.start(job).wait()
        values, problem = engine.read_features(ended)
        answer: str | None = f"{len(values)} values"
        problem = f"{problem}{_last_words(ended)}" if problem is not None else None
    else:
        name, job = program.name, engine.solver_job(portfolio, program, instance, SECONDS_ON_TINY)
        ended = await place.start(job).wait()
        answer, problem, _ = await engine.verified_answer(place, portfolio, program, instance, ended)
        stopped = ended.ending in (Ending.CPU_LIMIT, Ending.WALL_LIMIT)
        if answer is None and problem is None and not stopped:
            problem = f"{_UNREAD}: {ended.ending}, exit code {ended.exit_code}{_last_words(ended)}"
        elif answer is not None and expected is not None and not answers_agree(answer, expected):
            problem = f"expected {expected}"
    return Tried(name, instance.name, job.seconds(ended), answer, str(ended.ending), problem)


def _last_words(ended: Ended) -> str:
    line = engine.last_error_line(ended)
    if line:
        return f"; it says: {line[:200]}"
    printed = ended.output.decode(errors="replace").strip()
    return f"; it prints: {printed.splitlines()[-1][:200]}" if printed else "; it prints nothing"
