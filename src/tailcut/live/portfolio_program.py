"""Programs of a portfolio, including those that need a wrapper of their domain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailcut.domains import Domain
from tailcut.domains.domain import find_program
from tailcut.live.limits import Call, Command

PLACE = re.compile(r"\{(\w+)\}")
"""The pattern of placeholders in a command."""


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
    """Where it runs."""

    def filled(self, **places: str) -> Command | Call:
        """Return the program with its placeholders filled in; those not given stay unchanged."""
        words = tuple(PLACE.sub(lambda found: places.get(found[1], found[0]), word) for word in self.template)
        environment = dict(self.environment) or None
        if self.entry is not None:
            return Call(self.entry, words, environment=environment, folder=self.folder)
        return Command(words, environment=environment, folder=self.folder)


def wrapped(program: Program, domain: Domain) -> Program:
    """Return a plain command as the domain itself would call it, if it knows the program.

    MiniSat writes its model to a file, and CBC prints no solution, so `minisat {instance}` gets the wrapper
    of the domain's own `[solvers.minisat]`. Options are kept if the wrapper accepts them. Any other command
    is unchanged.
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
