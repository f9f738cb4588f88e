"""The portfolio file: which solvers there are, how they are called and how their answers are read."""

from __future__ import annotations

import csv
import enum
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailcut.catalogue import recipe
from tailcut.domains import Domain, domain_names, find_domain
from tailcut.domains.domain import (
    EXIT_CODE_0_SOLVES,
    AnswerRule,
    EntryProgram,
    TinyInstance,
    find_program,
    find_solvers,
    is_installed,
)
from tailcut.errors import InputError, LiveError, PortfolioError
from tailcut.live.instances import Instance
from tailcut.live.limits import Call, Command
from tailcut.live.tomltable import TomlTable, parse_toml
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
PLACE = re.compile(r"\{(\w+)\}")
DOMAIN_CUTOFF = 300
"""Default CPU seconds per instance in the portfolio of a domain."""
SECONDS_ON_TINY = 5.0
"""For a program that is tried on a tiny instance."""
FILE_FEATURES = EntryProgram("tailcut.domains.file_features:main", ("{instance}",))


class Clock(enum.StrEnum):
    """Which time counts."""

    CPU = "cpu"
    """CPU time of the whole process tree."""
    WALL = "wall"


@dataclass(frozen=True)
class Program:
    """A command or a Python entry point, with placeholders and its own limits."""

    template: tuple[str, ...]
    """The command with its arguments, or the arguments of the entry point."""
    entry: str | None = None
    """`module:function` of a Python entry point; None for a command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    memory: int | None = None
    """Bytes; None: no limit."""
    limit: float | None = None
    """Seconds; None: the budget of the run."""
    folder: Path | None = None

    def filled(self, **places: str) -> Command | Call:
        """Return the program with its placeholders filled in; those not given stay unchanged."""
        words = tuple(PLACE.sub(lambda found: places.get(found[1], found[0]), word) for word in self.template)
        environment = dict(self.environment) or None
        if self.entry is not None:
            return Call(self.entry, words, environment=environment, folder=self.folder)
        return Command(words, environment=environment, folder=self.folder)


@dataclass(frozen=True)
class Solver:
    name: str
    program: Program
    answers: tuple[AnswerRule, ...]
    gives: tuple[str, ...] | None = None
    """The kinds of answers it may give; None: all. Any other counts as none."""

    def may_give(self, answer: str) -> bool:
        """Return whether an answer is of a kind that it may give: `optimal 19` is of the kind `optimal`."""
        return self.gives is None or any(f"{answer} ".startswith(f"{kind} ") for kind in self.gives)


@dataclass(frozen=True)
class ObjectiveRule:
    r"""How objectives are read and turned into losses.

    >>> rule = ObjectiveRule(re.compile(rb"^o (?P<objective>\S+)", re.M), best=0.0, worst=200.0)
    >>> rule.last(b"o 90\no 50\nc stopped\n")
    50.0
    >>> rule.loss(Instance("i1", Path("i1")), 50.0), rule.loss(Instance("i1", Path("i1")), None)
    (0.25, 1.0)
    """

    pattern: re.Pattern[bytes]
    """Finds an objective in a group of that name; ^ and $ match at lines."""
    best: float | None = None
    worst: float | None = None
    """The objectives with losses 0 and 1; None: `best_known` is used."""
    best_known: Mapping[str, float] = field(default_factory=dict)

    def last(self, output: bytes) -> float | None:
        """Return the last finite objective in a solver's output; None if there is none."""
        found = None
        for match in self.pattern.finditer(output):
            try:
                value = float(match["objective"])
            except (TypeError, ValueError):
                continue
            found = value if math.isfinite(value) else found
        return found

    def check(self, instance: Instance) -> None:
        if self.best is None and instance.path.name not in self.best_known:
            raise LiveError(f"objective.best_known: has no row for {instance.path.name}")

    def loss(self, instance: Instance, value: float | None) -> float:
        """Return the loss of a run that ended with this objective; 1 without any.

        With bounds, this is the position between them. Otherwise it is the gap to the best known objective,
        as a share of the larger of the two numbers; 1 if their signs differ.
        """
        if value is None:
            return 1.0
        if self.best is not None and self.worst is not None:
            return min(max((value - self.best) / (self.worst - self.best), 0.0), 1.0)
        best = self.best_known[instance.path.name]
        if value == best:
            return 0.0
        return 1.0 if value * best < 0.0 else abs(value - best) / max(abs(value), abs(best))


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
    preload: tuple[str, ...] = ()
    """Modules that are loaded once instead of by every Python entry point."""
    check: tuple[TinyInstance, ...] = ()
    lacking: tuple[str, ...] = ()
    """Why some of its solvers cannot run here, one sentence each."""
    without: str | None = None
    """Why it does not use the features of its domain."""
    models: Mapping[str, str] = field(default_factory=dict)
    tags: bool = False
    """Whether instances may have tags, even if the first has none (`tailcut.live.instances`)."""
    objective: ObjectiveRule | None = None
    text: str = ""


def read_portfolio(path: str | Path) -> Portfolio:
    """Return the portfolio in a TOML file; an error names the invalid field."""
    file = Path(path)
    try:
        return _parsed(file.read_text(encoding="utf-8"), file)
    except OSError as error:
        raise PortfolioError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PortfolioError(f"{file}: is not TOML: {error}") from None


def domain_portfolio(name: str) -> Portfolio:
    return _parsed(portfolio_text(name), Path(f"--domain {name}"))


def _parsed(text: str, file: Path) -> Portfolio:
    table = parse_toml(text, str(file))
    table.close(_FILE)
    chosen = table.choice("domain", domain_names()) if "domain" in table else None
    domain = Domain() if chosen is None else find_domain(chosen)
    folder = (file.parent / table.text("folder", ".")).resolve()
    memory = table.size("memory")
    answers = _answers(table.table("answers"), domain) if "answers" in table else domain.answers
    solvers, lacking = _solvers(table, domain, answers, folder, memory)
    needed = {
        name: _needed_module(domain, one.program.entry, one.program.template) for name, one in solvers.items()
    }
    lacking += [
        f"the solver {name} needs {module}: {_install(domain)}"
        for name, module in needed.items()
        if module is not None and not is_installed(module)
    ]
    usual, without = _usual_features(domain, given="features" in table)
    of_others = {way.module for solver in domain.solvers for way in solver.ways} - set(needed.values())
    preload = [module for module in domain.preload if module not in of_others and is_installed(module)]
    if usual is FILE_FEATURES and "features" not in table:
        preload.append(FILE_FEATURES.entry.partition(":")[0])
    tiny, check = table.table("check"), domain.check
    tiny.close(("instance", "answer"))
    if "instance" in tiny:
        answer = tiny.text("answer") if "answer" in tiny else None
        check = (TinyInstance(file.parent / tiny.text("instance"), answer),)
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
        favourite=table.choice("favourite", list(solvers), "the solvers "),
        clock=Clock(table.choice("clock", list(Clock)) or Clock.CPU),
        wall_factor=table.number("wall_factor", 4.0) or 4.0,
        instances=table.texts("instances") or domain.instances,
        preload=(*preload, *table.texts("preload")),
        check=check,
        lacking=tuple(lacking),
        without=without,
        models=domain.models,
        tags=table.flag("tags"),
        objective=_objective(table.table("objective"), file.parent),
        text=text,
    )


def _usual_features(domain: Domain, *, given: bool) -> tuple[EntryProgram, str | None]:
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
    cutoff = portfolio.cutoff if given is None else given
    if cutoff is None:
        raise InputError(f"give --cutoff, or write cutoff = ... into {portfolio.file}")
    return check_seconds("cutoff", cutoff, above_zero=True)


def _solvers(
    table: TomlTable, domain: Domain, usual: tuple[AnswerRule, ...], folder: Path, memory: int | None
) -> tuple[dict[str, Solver], list[str]]:
    found = {}
    lacking: list[str] = []
    solvers = table.table("solvers")
    for name in solvers.fields:
        own = solvers.table(name)
        own.close(_SOLVER)
        if "command" in own or "entry" in own:
            given = _program(own, folder, PLACES)
            plain = "answers" not in own and "answers" not in table
            program: Program | None = _wrapped(given, domain) if plain else given
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
    """Return a solver that the domain knows; None if it is not installed."""
    known = {solver.name: solver for solver in domain.solvers}
    if name not in known:
        of = f", or the name of a solver of its domain: {', '.join(known)}" if known else ""
        raise PortfolioError(f"{table.file}: {table.where} must have either a command or an entry{of}")
    way = known[name].found()
    if way is None:
        how = known[name].install
        lacking.append(f"the solver {name} is not installed" + (f": {how}" if how else ""))
        return None
    return _limited(table, way.arguments, way.entry, folder)


def _gives(table: TomlTable, rules: tuple[AnswerRule, ...]) -> tuple[str, ...] | None:
    if "gives" not in table:
        return None
    known = [rule.kind for rule in rules]
    given = table.texts("gives")
    if not given or not set(given) <= set(known):
        raise table.wrong("gives", f"a list of answers that it has rules for: {', '.join(known)}")
    return given


def _selector(table: TomlTable) -> str | None:
    if "selector" not in table:
        return None
    try:
        recipe(table.text("selector").partition(":")[0].strip())
    except InputError as error:
        raise PortfolioError(f"{table.file}: selector: {error}") from None
    return table.text("selector")


def _optional(
    table: TomlTable, name: str, folder: Path, usual: EntryProgram | None, places: tuple[str, ...]
) -> Program | None:
    if name in table:
        own = table.table(name)
        own.close(_PROGRAM)
        return _program(own, folder, places)
    if usual is None:
        return None
    return Program(usual.arguments, usual.entry, folder=folder)


def _program(table: TomlTable, folder: Path, places: tuple[str, ...]) -> Program:
    if ("command" in table) == ("entry" in table):  # both, or none if there is no domain
        raise PortfolioError(f"{table.file}: {table.where} must have either a command or an entry")
    if "entry" in table:
        entry: str | None = table.text("entry")
        if not re.fullmatch(r"[\w.]+:\w+", entry or ""):
            raise table.wrong("entry", '"module:function"')
        words, origin = table.texts("arguments"), "arguments"
    else:
        entry, words, origin = None, _command(table, folder), "command"
    _check_places(table, origin, words, places)
    return _limited(table, words, entry, folder)


def _limited(table: TomlTable, words: tuple[str, ...], entry: str | None, folder: Path) -> Program:
    return Program(
        words,
        entry,
        environment=table.text_by_name("environment"),
        memory=table.size("memory"),
        limit=table.number("limit"),
        folder=folder,
    )


def _command(table: TomlTable, folder: Path) -> tuple[str, ...]:
    if "arguments" in table:
        raise table.wrong("arguments", "given with an entry only: write a command with its arguments")
    words = table.words("command")
    if not words or not words[0]:
        raise table.wrong("command", "a list with the program and its arguments")
    program = words[0]
    if "/" in program and not Path(program).is_absolute():
        program = str(folder / program)
    return program, *words[1:]


def _check_places(table: TomlTable, field: str, words: tuple[str, ...], places: tuple[str, ...]) -> None:
    found = {place for word in words for place in PLACE.findall(word)}
    unknown = sorted(found - set(places))
    if unknown:
        known = ", ".join(f"{{{place}}}" for place in places)
        raise PortfolioError(
            f"{table.file}: {table.name(field)} has a place {{{unknown[0]}}} that is not known here; "
            f"known: {known}"
        )
    if "instance" not in found:
        raise table.wrong(field, "words with {instance} where the instance's file goes")


def _answers(table: TomlTable, domain: Domain) -> tuple[AnswerRule, ...]:
    """Return the rules of [answers.NAME] tables; `optimal` means a domain's `optimal {objective}`."""
    rules = []
    whole = {rule.kind: rule.answer for rule in domain.answers}
    for name in table.fields:
        own = table.table(name)
        answer = whole.get(name, name)
        own.close(("exit_code", "pattern", "unless"))
        if "exit_code" not in own and "pattern" not in own:
            raise PortfolioError(f"{own.file}: {own.where} must have an exit_code, a pattern or both")
        pattern = own.pattern("pattern")
        for group in re.findall(r"\{(\w+)\}", answer):
            if pattern is None or group not in pattern.groupindex:
                raise own.wrong("pattern", f"a regular expression with a group (?P<{group}>...)")
        rules.append(AnswerRule(answer, own.whole("exit_code"), pattern, own.pattern("unless")))
    return tuple(rules)


def _objective(table: TomlTable, folder: Path) -> ObjectiveRule | None:
    if not table.fields:
        return None
    table.close(("pattern", "best", "worst", "best_known"))
    pattern = table.pattern("pattern")
    if pattern is None or "objective" not in pattern.groupindex:
        raise table.wrong("pattern", "a regular expression with a group (?P<objective>...)")
    bounded = ("best" in table) + ("worst" in table)
    if bounded + 2 * ("best_known" in table) != 2:
        raise PortfolioError(f"{table.file}: objective must have best and worst, or best_known")
    if not bounded:
        return ObjectiveRule(pattern, best_known=_best_known(folder / table.text("best_known")))
    best, worst = table.finite("best"), table.finite("worst")
    if best == worst:
        raise table.wrong("worst", "another number than best")
    return ObjectiveRule(pattern, best, worst)


def _best_known(file: Path) -> dict[str, float]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines)
            if not {"instance", "best"} <= set(rows.fieldnames or ()):
                raise PortfolioError(f"{file}, line 1: expected the columns instance and best")
            found = {}
            for row in rows:
                try:
                    value = float(row["best"] or "nan")
                except ValueError:
                    value = math.nan
                if not math.isfinite(value):
                    words = f"best must be a finite number, got {row['best']!r}"
                    raise PortfolioError(f"{file}, line {rows.line_num}: {words}")
                found[row["instance"]] = value
    except (OSError, UnicodeDecodeError) as error:
        raise PortfolioError(f"{file}: cannot be read: {error}") from None
    return found


def _wrapped(program: Program, domain: Domain) -> Program:
    """Return a plain command as the domain itself would call it, if it knows the program.

    MiniSat writes its model to a file, and CBC prints no solution, so `minisat {instance}` gets the wrapper
    of the domain's own `[solvers.minisat]`. Options are kept if the wrapper accepts them.
    """
    if program.entry is not None or program.template[-1] != "{instance}":
        return program
    name, *options = program.template[:-1]
    for solver in domain.solvers:
        for way in solver.ways:
            known = way.program == Path(name).name and way.entry is not None
            if not known or (options and not way.takes_options):
                continue
            found = name if "/" in name else find_program(name)
            if found is None:
                return program
            words = [word.replace("{program}", found) for word in way.arguments[:-1]]
            more = [option for option in options if option not in words]
            return replace(program, template=(*words, *more, "{instance}"), entry=way.entry)
    return program


def _needed_module(domain: Domain, entry: str | None, words: Sequence[str]) -> str | None:
    every = [way for solver in domain.solvers for way in solver.ways if entry is not None]
    ways = [way for way in every if way.entry == entry and way.arguments[0] in words]
    # a wheel and a program of the same solver may have one entry point: the program is one more argument
    same = [way for way in ways if len(way.arguments) == len(words)]
    return (same or ways)[0].module if ways else None


def portfolio_text(name: str) -> str:
    """Return that portfolio as the text of a TOML file, to be saved and edited."""
    domain = find_domain(name)
    found = find_solvers(domain)
    if not found:
        raise InputError(f"no solver of the domain {name} is installed: {installable(domain)}")
    tables = "".join(f"\n[solvers.{solver}]\n" for solver in found)
    return f'domain = "{name}"\ncutoff = {DOMAIN_CUTOFF}\n{tables}'


def found_words(name: str) -> str:
    domain = find_domain(name)
    more = installable(domain)
    return f"{name}: {', '.join(find_solvers(domain))}" + (f"; could be installed: {more}" if more else "")


def installable(domain: Domain) -> str:
    """Return what is not installed and how it could be, empty if nothing is left.

    >>> from tailcut.domains.domain import DomainSolver, as_program
    >>> way = as_program("no-such-program", install="apt install it")
    >>> installable(Domain(solvers=(DomainSolver("it", "a solver", (way,)),)))
    'it (apt install it)'
    """
    found = find_solvers(domain)
    lacking = [solver for solver in domain.solvers if solver.name not in found and solver.install]
    return ", ".join(f"{solver.name} ({solver.install})" for solver in lacking)
