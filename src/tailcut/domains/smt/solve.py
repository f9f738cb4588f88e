"""The program that answers one script: ``python -m tailcut.domains.smt.solve SOLVER [PROGRAM] FILE``.

SOLVER is one of those of the domain; without PROGRAM it is the wheel of that name. It prints sat, unsat or
unknown and, after sat, a model, whether the script asks for it or not.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial

from tailcut.domains.programs import ScratchFile, entry_point, needs_extra, print_answer, read_bytes, run
from tailcut.errors import InputError, TailcutError

OPTIONS = {
    "z3": ("-smt2",),
    "cvc5": ("--lang=smt2",),
    "bitwuzla": ("--lang", "smt2"),
    "yices": ("--smt2-model-format",),
}
"""Solver -> the arguments of its program besides the file."""

_LEAVE = rb';[^\n]*|"[^"]*"|\|[^|]*\|'
"""Comments, texts and quoted symbols, in which brackets mean nothing."""
_COMMAND = re.compile(_LEAVE + rb"|\(\s*(?:(check-sat(?:-assuming)?|push|pop)(?![\w-])|(get-)[\w-])")
_UNKNOWN_OPTION = re.compile(rb"\(error \"line \d+ column \d+: unknown parameter '[^\"]*\"\)\s*")
"""What z3 says of an option that is another solver's; it is passed over."""
_BRACKET = re.compile(_LEAVE + rb"|[()]")
_STATUS = re.compile(rb"^(sat|unsat|unknown|timeout|unsupported)[ \t\r]*$", re.M)


def with_model(text: bytes) -> tuple[bytes, int]:
    r"""Return a script, asking for a model if it has one check and asks for nothing else; and its checks.

    >>> with_model(b"(assert true)(check-sat)(exit)")
    (b'(set-option :produce-models true)\n(assert true)(check-sat)\n(get-model)\n', 1)
    """
    asked = _asked(text)
    checks = [start for word, start in asked if word.startswith(b"check-sat")]
    if len(checks) != 1 or any(word == b"get-" for word, _ in asked):
        return text, len(checks)
    for _, end in commands(text, checks[0]):
        return b"(set-option :produce-models true)\n" + text[:end] + b"\n(get-model)\n", 1
    return text, 1  # the check is never closed


def is_incremental(text: bytes) -> bool:
    """Return whether a script asks more than once, or takes assertions back: solvers know more tricks if not.

    >>> is_incremental(b"(assert true)(check-sat)"), is_incremental(b"(push 1)(assert true)(check-sat)")
    (False, True)
    """
    words = [word for word, _ in _asked(text)]
    return sum(word.startswith(b"check-sat") for word in words) > 1 or b"push" in words or b"pop" in words


def _asked(text: bytes) -> list[tuple[bytes, int]]:
    return [(match[1] or match[2], match.start()) for match in _COMMAND.finditer(text) if match.lastindex]


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


def ask(solver: str, program: str | None, script: bytes) -> bytes:
    if program is not None:
        if solver not in OPTIONS:
            raise InputError(f"there is no program of the solver {solver!r}; there are {', '.join(OPTIONS)}")
        with ScratchFile(script) as file:
            return run([program, *OPTIONS[solver], file.path], file).stdout
    if solver not in _WHEELS:
        raise InputError(f"there is no wheel of the solver {solver!r}; there are {', '.join(_WHEELS)}")
    with needs_extra(f"the solver {solver}", "smt"), ScratchFile(script) as file:
        return _printed(partial(_WHEELS[solver], file.path, script))


def _printed(run: Callable[[], None]) -> bytes:
    """Return what a function prints, also from C: standard output is a file for as long as it runs."""
    sys.stdout.flush()
    before = os.dup(1)
    with ScratchFile() as output:
        os.dup2(output.descriptor, 1)
        try:
            run()
        except (TailcutError, ModuleNotFoundError):
            raise
        except Exception as error:  # every wheel has its own
            raise InputError(f"not supported, or not a script: {error}") from None
        finally:
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)
            os.dup2(before, 1)
            os.close(before)
        return output.read()


def _cvc5(path: str, script: bytes) -> None:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("incremental", "true" if is_incremental(script) else "false")
    parser = cvc5.InputParser(solver)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, path)
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        os.write(1, str(command.invoke(solver, symbols)).encode())


def _bitwuzla(path: str, _: bytes) -> None:
    import bitwuzla

    bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options()).parse(path)


def _boolector(path: str, script: bytes) -> None:
    import pyboolector

    solver = pyboolector.Boolector()
    if is_incremental(script):
        solver.Set_opt(pyboolector.BtorOption.BTOR_OPT_INCREMENTAL, 1)
    solver.Parse(path)


_WHEELS: dict[str, Callable[[str, bytes], None]] = {
    "cvc5": _cvc5,
    "bitwuzla": _bitwuzla,
    "boolector": _boolector,
}


def _answer(solver: str, program: str | None, file: str) -> tuple[bytes, int]:
    script, checks = with_model(read_bytes(file))
    return plain_output(ask(solver, program, script), checks), 0


main = entry_point(__name__, print_answer, _answer)
