"""The bundled domain: satisfiability, with solvers that come as wheels and formulas that are generated.

A formula (`cnf`) is answered by one of the `solvers` (`solve` is the program), described by `features`, and
made by `generators`. Nothing here knows of selection: these are programs, files and tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from tailcut.domains.domain import AnswerRule, Domain, EntryProgram, TinyInstance

_TINY = Path(__file__).parent / "tiny"


def _status_line(status: str) -> AnswerRule:
    line = rb"^s " + status.encode() + rb"[ \t\r]*$"
    return AnswerRule(status, pattern=re.compile(line, re.MULTILINE))


DOMAIN = Domain(
    answers=(_status_line("SATISFIABLE"), _status_line("UNSATISFIABLE")),
    features=EntryProgram("tailcut.domains.sat.features:main", ("{instance}",), needs="gbdc"),
    verify=EntryProgram("tailcut.domains.sat.verify:main", ("{instance}", "{output}")),
    instances=("*.cnf", "*.cnf.gz", "*.cnf.xz"),
    preload=(
        "numpy",
        "pysat.solvers",
        "pycryptosat",
        "highspy",
        "gbdc",
        "tailcut.domains.sat.solve",
        "tailcut.domains.sat.features",
        "tailcut.domains.sat.highs",
        "tailcut.domains.sat.warm",  # has the local search compiled and loaded
        "tailcut.domains.sat.verify",
    ),
    extra="sat",
    solver_needs={
        "tailcut.domains.sat.solve:main": {
            **dict.fromkeys(("kissat404", "cadical300", "minisat22", "lingeling", "ergo"), "pysat.solvers"),
            "cryptominisat": "pycryptosat",
            "highs": "highspy",
            "local_search": "tailcut.domains.sat.warm",
        }
    },
    check=(
        TinyInstance(_TINY / "sat.cnf", "SATISFIABLE"),
        TinyInstance(_TINY / "unsat.cnf", "UNSATISFIABLE"),
    ),
)
