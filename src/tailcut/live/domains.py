"""Domains: what a portfolio of a well-known kind need not say itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailcut.domains.sat.arms import PRELOAD
from tailcut.live.answers import Sign


def _nothing_to_try() -> tuple[tuple[Path, str | None], ...]:
    return ()


@dataclass(frozen=True)
class Domain:
    """What holds for every portfolio of a domain, unless its file says otherwise."""

    signs: tuple[Sign, ...] = ()
    features: tuple[str, tuple[str, ...]] | None = None
    """Entry point and arguments of the feature extractor."""
    verify: tuple[str, tuple[str, ...]] | None = None
    """Entry point and arguments of the program that checks an answer."""
    instances: tuple[str, ...] = ("*",)
    preload: tuple[str, ...] = ()
    check: Callable[[], tuple[tuple[Path, str | None], ...]] = _nothing_to_try
    """Returns tiny instances with their answers."""


def _tiny_formulas() -> tuple[tuple[Path, str | None], ...]:
    folder = Path(__file__).parent.parent / "domains" / "sat" / "tiny"
    return ((folder / "sat.cnf", "SATISFIABLE"), (folder / "unsat.cnf", "UNSATISFIABLE"))


def _line(text: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"^" + text + rb"[ \t\r]*$", re.MULTILINE)


DOMAINS = {
    "sat": Domain(
        signs=(
            Sign("SATISFIABLE", pattern=_line(b"s SATISFIABLE")),
            Sign("UNSATISFIABLE", pattern=_line(b"s UNSATISFIABLE")),
        ),
        features=("tailcut.domains.sat.features:main", ("{instance}",)),
        verify=("tailcut.domains.sat.verify:main", ("{instance}", "{output}")),
        instances=("*.cnf", "*.cnf.gz", "*.cnf.xz"),
        preload=(*PRELOAD, "tailcut.domains.sat.verify"),
        check=_tiny_formulas,
    ),
}
"""Name in the portfolio file -> domain."""
