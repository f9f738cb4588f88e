"""The portfolio file: which solvers there are, how they are called and how their answers are read."""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailcut.catalogue import recipe
from tailcut.domains import Domain, domain_names, find_domain
from tailcut.domains.domain import (
    EXIT_CODE_0_SOLVES,
    AnswerRule,
    EntryProgram,
    TinyInstance,
    find_solver,
    is_installed,
)
from tailcut.errors import InputError, PortfolioError
from tailcut.live.installed import needed_module, worth_preloading
from tailcut.live.objective import ObjectiveRule, objective_rule
from tailcut.live.portfolio_program import PLACE, Program, wrapped
from tailcut.live.tomltable import TomlTable, parse_toml, read_toml
from tailcut.types import check_seconds

_PROGRAM = ("command", "entry", "arguments", "environment", "memory", "limit")
_SOLVER = ("command", "entry", "arguments", "environment", "memory", "answers", "gives")
_FILE = (
    "domain", "cutoff", "selector", "clock", "wall_factor", "memory", "folder", "instances", "preload",
    "answers", "features", "verify", "solvers", "check", "favourite", "tags",
    "objective",
)  # fmt: skip
PLACES = ("instance", "cutoff", "memory", "seed")
"""Placeholders in a solver's command: its file, seconds, bytes (0: no limit), a seed."""
FILE_FEATURES = EntryProgram("tailcut.domains.file_features:main", ("{instance}",))
"""The feature extractor if neither the portfolio nor its domain defines one."""


class Clock(enum.StrEnum):
    """Which time counts."""

    CPU = "cpu"
    """CPU time of the whole process tree."""
    WALL = "wall"


@dataclass(frozen=True)
class Solver:
    """A solver of the portfolio."""

    name: str
    program: Program
    answers: tuple[AnswerRule, ...]
    gives: tuple[str, ...] | None = None
    """The kinds of answers it may give; None: all. Any other counts as none."""

    def may_give(self, answer: str) -> bool:
        """Return whether an answer is of a kind that it may give: `optimal 19` is of the kind `optimal`."""
        return self.gives is None or any(f"{answer} ".startswith(f"{kind} ") for kind in self.gives)


@dataclass(frozen=True)
class Portfolio:
    """The checked content of a portfolio file."""

    file: Path
    solvers: Mapping[str, Solver]
    folder: Path = Path()
    """The folder in which its programs run; modules of its entry points are searched there last."""
    features: Program | None = None
    verify: Program | None = None
    """Verifies an answer: exit code 0 confirms it, any other refutes it."""
    cutoff: float | None = None
    selector: str | None = None
    favourite: str | None = None
    """The solver that others must beat; None: all are treated equally."""
    clock: Clock = Clock.CPU
    wall_factor: float = 4.0
    """With the clock `cpu`, a run is stopped after this many times its budget of wall time, plus 5 s."""
    instances: tuple[str, ...] = ("*",)
    """Which files of a folder are instances."""
    preload: tuple[str, ...] = ()
    """Modules that are loaded once instead of by every Python entry point."""
    check: tuple[TinyInstance, ...] = ()
    """What to try the solvers on."""
    lacking: tuple[str, ...] = ()
    """Why some of its solvers cannot run here, one sentence each."""
    without: str | None = None
    """Why it does not use the features of its domain."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Files of a folder that are not instances if others are beside them; see `Domain`."""
    tags: bool = False
    """Whether instances may have tags, even if the first has none (`tailcut.live.tags`)."""
    objective: ObjectiveRule | None = None
    """How answers are rated; None: runtimes count."""
    text: str = ""
    """The text of the file."""


def read_portfolio(path: str | Path) -> Portfolio:
    """Return the portfolio in a TOML file; an error names the invalid field."""
    file = Path(path)
    return _portfolio(read_toml(file), file, file.read_text(encoding="utf-8"))


def parse_portfolio(text: str, name: str) -> Portfolio:
    """Return the portfolio that a TOML text describes, for the current folder; errors call it `name`."""
    return _portfolio(parse_toml(text, name), Path(name), text)


def _portfolio(table: TomlTable, file: Path, text: str) -> Portfolio:
    table.close(_FILE)
    domain = _domain(table)
    folder = (file.parent / table.text("folder", ".")).resolve()
    memory = table.size("memory")
    answers = _answers(table.table("answers"), domain) if "answers" in table else domain.answers
    clock = table.text("clock", Clock.CPU)
    if clock not in list(Clock):
        raise table.wrong("clock", '"cpu" or "wall"')
    solvers, lacking = _solvers(table, domain, answers, folder, memory)
    needed = {
        name: needed_module(domain, one.program.entry, one.program.template) for name, one in solvers.items()
    }
    lacking += [
        f"the solver {name} needs {module}: {_install(domain)}"
        for name, module in needed.items()
        if module is not None and not is_installed(module)
    ]
    usual, without = _usual_features(domain, given="features" in table)
    return Portfolio(
        file=file,
        solvers=solvers,
        folder=folder,
        features=None
        if table.is_false("features")
        else _optional(table, "features", folder, usual, ("instance",)),
        verify=_optional(table, "verify", folder, domain.verify, ("instance", "output", "answer", "solver")),
        cutoff=table.number("cutoff"),
        selector=_selector(table),
        favourite=_favourite(table, solvers),
        clock=Clock(clock),
        wall_factor=table.number("wall_factor", 4.0) or 4.0,
        instances=table.texts("instances") or domain.instances,
        preload=(
            *worth_preloading(domain, needed.values()),
            *([_module(FILE_FEATURES)] if usual is FILE_FEATURES and "features" not in table else []),
            *table.texts("preload"),
        ),
        check=_checks(table.table("check"), file.parent) or domain.check,
        lacking=tuple(lacking),
        without=without,
        models=domain.models,
        tags=table.flag("tags"),
        objective=objective_rule(table.table("objective"), file.parent),
        text=text,
    )


def _module(program: EntryProgram) -> str:
    return program.entry.partition(":")[0]


def _usual_features(domain: Domain, *, given: bool) -> tuple[EntryProgram, str | None]:
    """Return the domain's feature extractor, or the general one and the reason."""
    usual = domain.features
    if usual is None:
        return FILE_FEATURES, None
    if given or usual.needs is None or is_installed(usual.needs):
        return usual, None
    return FILE_FEATURES, (
        f"with features of the files only, for {usual.needs} is not installed: {_install(domain)}"
    )


def _install(domain: Domain) -> str:
    return f"pip install 'tailcut[{domain.extra}]'"


def cutoff_of(portfolio: Portfolio, given: float | None) -> float:
    """Return the given cutoff, or the portfolio's; raise if there is none."""
    cutoff = portfolio.cutoff if given is None else given
    if cutoff is None:
        raise InputError(f"give --cutoff, or write cutoff = ... into {portfolio.file}")
    return check_seconds("cutoff", cutoff, above_zero=True)


def _domain(table: TomlTable) -> Domain:
    if "domain" not in table:
        return Domain()
    name = table.text("domain")
    known = domain_names()
    if name not in known:
        raise table.wrong("domain", f"one of {', '.join(known)}")
    return find_domain(name)


def _solvers(
    table: TomlTable, domain: Domain, usual: tuple[AnswerRule, ...], folder: Path, memory: int | None
) -> tuple[dict[str, Solver], list[str]]:
    """Return the solvers, and why some of the domain's cannot run here."""
    found = {}
    lacking: list[str] = []
    solvers = table.table("solvers")
    for name in solvers.fields:
        own = solvers.table(name)
        own.close(_SOLVER)
        if "command" in own or "entry" in own:
            given = _program(own, folder, PLACES, must_have="instance")
            plain = "answers" not in own and "answers" not in table
            program: Program | None = wrapped(given, domain) if plain else given
        else:
            program = _of_domain(own, name, domain, folder, lacking)
        if program is None:
            continue
        answers = _answers(own.table("answers"), domain) if "answers" in own else usual
        limited = replace(program, memory=program.memory or memory)
        rules = answers or EXIT_CODE_0_SOLVES
        found[name] = Solver(name, limited, rules, _gives(own, rules))
    if not found and not lacking:
        raise PortfolioError(f"{table.file}: there must be at least one solver, as a table [solvers.NAME]")
    return found, lacking


def _of_domain(
    table: TomlTable, name: str, domain: Domain, folder: Path, lacking: list[str]
) -> Program | None:
    """Return a solver that the domain knows, called as found here; None if it is not installed."""
    known = {solver.name: solver for solver in domain.solvers}
    if name not in known:
        of = f", or the name of a solver of its domain: {', '.join(known)}" if known else ""
        raise PortfolioError(f"{table.file}: {table.where} must have either a command or an entry{of}")
    found = find_solver(known[name])
    if found.way is None:
        how = known[name].install
        lacking.append(f"the solver {name} is not installed" + (f": {how}" if how else ""))
        return None
    return Program(
        found.words,
        found.way.entry,
        environment=table.text_by_name("environment"),
        memory=table.size("memory"),
        folder=folder,
    )


def _gives(table: TomlTable, rules: tuple[AnswerRule, ...]) -> tuple[str, ...] | None:
    if "gives" not in table:
        return None
    known = [rule.kind for rule in rules]
    given = table.texts("gives")
    if not given or not set(given) <= set(known):
        raise table.wrong("gives", f"a list of answers that it has rules for: {', '.join(known)}")
    return given


def _selector(table: TomlTable) -> str | None:
    """Return the selector with its hyperparameters, or say that there is none of this name."""
    if "selector" not in table:
        return None
    try:
        recipe(table.text("selector").partition(":")[0].strip())
    except InputError as error:
        raise PortfolioError(f"{table.file}: selector: {error}") from None
    return table.text("selector")


def _favourite(table: TomlTable, solvers: Mapping[str, Solver]) -> str | None:
    if "favourite" not in table:
        return None
    if table.text("favourite") not in solvers:
        raise table.wrong("favourite", f"one of the solvers {', '.join(solvers)}")
    return table.text("favourite")


def _optional(
    table: TomlTable,
    name: str,
    folder: Path,
    usual: EntryProgram | None,
    places: tuple[str, ...],
) -> Program | None:
    """Return an optional program: the file's own, the domain's, or none."""
    if name in table:
        own = table.table(name)
        own.close(_PROGRAM)
        return _program(own, folder, places, must_have="instance")
    if usual is None:
        return None
    return Program(usual.arguments, usual.entry, folder=folder)


def _program(table: TomlTable, folder: Path, places: tuple[str, ...], must_have: str) -> Program:
    if ("command" in table) == ("entry" in table):  # both, or none if there is no domain
        raise PortfolioError(f"{table.file}: {table.where} must have either a command or an entry")
    if "entry" in table:
        entry: str | None = table.text("entry")
        if not re.fullmatch(r"[\w.]+:\w+", entry or ""):
            raise table.wrong("entry", '"module:function"')
        words, origin = table.texts("arguments"), "arguments"
    else:
        entry, words, origin = None, _command(table, folder), "command"
    _check_places(table, origin, words, places, must_have)
    return Program(
        words,
        entry,
        environment=table.text_by_name("environment"),
        memory=table.size("memory"),
        limit=table.number("limit"),
        folder=folder,
    )


def _command(table: TomlTable, folder: Path) -> tuple[str, ...]:
    """Return the words of a command; a program with a slash in its name is relative to the folder."""
    if "arguments" in table:
        raise table.wrong("arguments", "given with an entry only: write a command with its arguments")
    words = table.texts("command") if not _is_text(table, "command") else _split(table)
    if not words or not words[0]:
        raise table.wrong("command", "a list with the program and its arguments")
    program = words[0]
    if "/" in program and not Path(program).is_absolute():
        program = str(folder / program)
    return program, *words[1:]


def _is_text(table: TomlTable, field: str) -> bool:
    try:
        table.text(field)
    except PortfolioError:
        return False
    return True


def _split(table: TomlTable) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(table.text("command")))
    except ValueError:
        raise table.wrong("command", "words as a shell reads them (is a quote open?)") from None


def _check_places(
    table: TomlTable, field: str, words: tuple[str, ...], places: tuple[str, ...], must_have: str
) -> None:
    found = {place for word in words for place in PLACE.findall(word)}
    unknown = sorted(found - set(places))
    if unknown:
        known = ", ".join(f"{{{place}}}" for place in places)
        raise PortfolioError(
            f"{table.file}: {table.name(field)} has a place {{{unknown[0]}}} that is not known here; "
            f"known: {known}"
        )
    if must_have not in found:
        raise table.wrong(field, f"words with {{{must_have}}} where the instance's file goes")


def _answers(table: TomlTable, domain: Domain) -> tuple[AnswerRule, ...]:
    """Return the rules of [answers.NAME] tables: exit_code, pattern or both, and unless.

    In a domain whose answers are `optimal {objective}`, the name `optimal` means these.
    """
    rules = []
    whole = {rule.kind: rule.answer for rule in domain.answers}
    for name in table.fields:
        own = table.table(name)
        answer = whole.get(name, name)
        own.close(("exit_code", "pattern", "unless"))
        if "exit_code" not in own and "pattern" not in own:
            raise PortfolioError(f"{own.file}: {own.where} must have an exit_code, a pattern or both")
        pattern = _pattern(own, "pattern")
        for group in re.findall(r"\{(\w+)\}", answer):
            if pattern is None or group not in pattern.groupindex:
                raise own.wrong("pattern", f"a regular expression with a group (?P<{group}>...)")
        rules.append(AnswerRule(answer, own.whole("exit_code"), pattern, _pattern(own, "unless")))
    return tuple(rules)


def _pattern(table: TomlTable, field: str) -> re.Pattern[bytes] | None:
    if field not in table:
        return None
    try:
        return re.compile(table.text(field).encode(), re.MULTILINE)
    except re.error as error:
        raise table.wrong(field, f"a regular expression ({error})") from None


def _checks(table: TomlTable, folder: Path) -> tuple[TinyInstance, ...]:
    table.close(("instance", "answer"))
    if "instance" not in table:
        return ()
    answer = table.text("answer") if "answer" in table else None
    return (TinyInstance(folder / table.text("instance"), answer),)
