"""How the answer of a solver is read: from its exit code, from its output, or from both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sign:
    """What tells that a run gave a certain answer; what is None does not matter."""

    answer: str
    exit_code: int | None = None
    pattern: re.Pattern[bytes] | None = None
    """A regular expression that must be found in the output; ^ and $ match at lines."""

    def seen(self, exit_code: int, output: bytes) -> bool:
        """Return whether a run with this end gave the answer."""
        if self.exit_code is not None and exit_code != self.exit_code:
            return False
        return self.pattern is None or self.pattern.search(output) is not None


SOLVED = (Sign("solved", exit_code=0),)
"""Where nothing else is said, a run that ends with exit code 0 solved its instance."""


def read_answer(signs: Sequence[Sign], exit_code: int | None, output: bytes) -> str | None:
    r"""Return the answer a finished run gave, or None if it gave none.

    >>> signs = (Sign("SAT", pattern=re.compile(rb"^s SATISFIABLE", re.M)), Sign("UNSAT", exit_code=20))
    >>> read_answer(signs, 0, b"c hello\ns SATISFIABLE\nv 1 0\n"), read_answer(signs, 20, b"")
    ('SAT', 'UNSAT')
    >>> read_answer(signs, 0, b"s UNKNOWN") is None
    True
    """
    if exit_code is None:
        return None
    return next((sign.answer for sign in signs if sign.seen(exit_code, output)), None)
