"""What SMT solvers are asked and what they answer: scripts that ask for a model, and outputs made plain."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

_LEAVE = rb';[^\n]*|"[^"]*"|\|[^|]*\|'
"""Comments, texts and quoted symbols, in which brackets mean nothing."""
_CHECK = re.compile(_LEAVE + rb"|\(\s*(?P<check>check-sat(?:-assuming)?)(?![\w-])|\(\s*(?P<get>get-[\w-]+)")
_INCREMENTAL = re.compile(_LEAVE + rb"|\(\s*(check-sat(?:-assuming)?|push|pop)(?![\w-])")
_UNKNOWN_OPTION = re.compile(rb"\(error \"line \d+ column \d+: unknown parameter '[^\"]*\"\)\s*")
"""What z3 says of an option that is another solver's; it is passed over."""
_BRACKET = re.compile(_LEAVE + rb"|[()]")
_STATUS = re.compile(rb"^(sat|unsat|unknown|timeout|unsupported)[ \t\r]*$", re.M)


class Script(NamedTuple):
    """A script as it is given to a solver."""

    text: bytes
    checks: int
    """How often it asks whether what was asserted is satisfiable."""


def with_model(text: bytes) -> Script:
    r"""Return a script that asks for a model, too, if it asks once and for nothing else.

    >>> with_model(b"(assert true)(check-sat)(exit)").text
    b'(set-option :produce-models true)\n(assert true)(check-sat)\n(get-model)\n'
    """
    found = list(_CHECK.finditer(text))
    checks = [match for match in found if match["check"]]
    if len(checks) != 1 or any(match["get"] for match in found):
        return Script(text, len(checks))
    end = next(
        (stop for start, stop in commands(text, checks[0].start()) if start == checks[0].start()), None
    )
    if end is None:
        return Script(text, 1)
    return Script(b"(set-option :produce-models true)\n" + text[:end] + b"\n(get-model)\n", 1)


def is_incremental(text: bytes) -> bool:
    """Return whether a script asks more than once, or takes assertions back: solvers know more tricks if not.

    >>> is_incremental(b"(assert true)(check-sat)"), is_incremental(b"(push 1)(assert true)(check-sat)")
    (False, True)
    """
    found = [match[1] for match in _INCREMENTAL.finditer(text) if match[1]]
    return found.count(b"check-sat") + found.count(b"check-sat-assuming") > 1 or bool(
        {b"push", b"pop"} & {*found}
    )


def commands(text: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    r"""Yield where each expression that stands in no other begins and ends.

    >>> [b"(a (b)) ; )\n(c)"[start:end] for start, end in commands(b"(a (b)) ; )\n(c)")]
    [b'(a (b))', b'(c)']
    """
    depth = begun = 0
    for match in _BRACKET.finditer(text, start):
        if match[0] == b"(":
            if depth == 0:
                begun = match.start()
            depth += 1
        elif match[0] == b")":
            depth -= 1
            if depth == 0:
                yield begun, match.end()


def plain_output(output: bytes, checks: int) -> bytes:
    r"""Return what a solver printed as one answer, with its model; without an answer, as it is.

    What follows an ``unsat``, such as the complaint that there is no model, is cut off, and complaints about
    other solvers' options are left out. Of a script with several checks the last line is a comment that sums
    the answers up.

    >>> plain_output(b'unsat\n(error "no model")\n', 1)
    b'unsat\n'
    >>> plain_output(b"sat\nunsat\n", 2)[:24]
    b'sat\nunsat\n; 2 checks: a6'
    """
    output = _UNKNOWN_OPTION.sub(b"", output)
    said = _STATUS.findall(output)
    if checks == 1:
        return b"unsat\n" if re.match(rb"\s*unsat\s*$", output, re.M) else output
    if len(said) != checks or not {*said} <= {b"sat", b"unsat"} or b"(error" in output:
        return output + b"unknown\n"
    digest = hashlib.sha256(b" ".join(said)).hexdigest()[:12]
    return output + f"; {checks} checks: {digest}\n".encode()


def model_of(output: bytes) -> dict[bytes, bytes]:
    r"""Return the definitions in a model by the symbols they define; empty if anything else stands in it.

    >>> model_of(b"sat\n((define-fun x () Int 5))")
    {b'x': b'(define-fun x () Int 5)'}
    """
    _, _, rest = output.partition(b"(")
    inner = re.sub(rb"\A\s*model\b", b"", rest[: rest.rfind(b")")])
    found = {}
    for start, end in commands(inner):
        definition = inner[start:end]
        name = re.match(rb"\(\s*define-fun\s+(\|[^|]*\||[^\s()]+)", definition)
        if name is None:
            return {}
        found[name[1]] = definition
    return found
