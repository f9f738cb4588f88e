"""What there is to say of a script without solving it: its features, and whether an answer to it is wrong.

A model is checked by another solver than the one that gave it: it gets the script with every symbol defined
as the model has it, and must not call that unsatisfiable. What cannot be checked is accepted: unsat, scripts
with several checks or with sorts of their own, numbers that only the solver can write, such as roots of
polynomials. If solvers contradict each other, the code that ran them reports it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import partial
from itertools import accumulate
from pathlib import Path

from tailcut.domains.domain import domain_table
from tailcut.domains.programs import entry_point, print_features, print_verdict, read_bytes
from tailcut.domains.smt import DOMAIN
from tailcut.domains.smt.solve import ask, commands, with_model
from tailcut.errors import TailcutError

EVALUATORS = ("z3", "cvc5", "bitwuzla", "yices")
"""The evaluating solvers: the first that is installed and did not give the answer is used."""
_LARGEST = 20 * 2**20
"""Bytes of a script that is still checked: seconds."""
_DECLARED = re.compile(rb"\(\s*declare-(?:fun|const)\s+(\|[^|]*\||[^\s()]+)")
_OWN_SORTS = re.compile(rb"\(\s*(?:declare-sort|declare-datatype)")
_ROOTS = re.compile(rb"\(\s*set-logic\s+\w*N(?:RA|IRA)")
_COUNTED = 4 * 2**20
"""Bytes of a script of which features count the words."""
_TOKEN = re.compile(rb';[^\n]*|"[^"]*"|\|[^|]*\||[()]|[^\s()|";]+')
_LOGIC = re.compile(rb"\(\s*set-logic\s+([A-Z_]+)")
_THEORIES = {name: pattern.encode() for name, pattern in domain_table("smt")["theories"].items()}
_WORDS = {name: words.encode().split() for name, words in domain_table("smt")["words"].items()}
_WIDTH = re.compile(rb"BitVec\s+(\d{1,6})")


def refuted(file: Path, output: str, solver: str = "") -> str | None:
    """Return what is wrong with an answer, None if nothing is, or nothing can be found."""
    if not re.match(r"\s*sat\s*$", output, re.M):
        return None
    model = model_of(output.encode(errors="replace"))
    script = read_bytes(file)
    if not model or len(script) > _LARGEST or _OWN_SORTS.search(script) or _ROOTS.search(script):
        return None
    if with_model(script)[1] != 1:
        return None
    known = {one.name: one for one in DOMAIN.solvers}
    for name in EVALUATORS:
        found = known[name].found()
        if name == solver or found is None:
            continue
        try:
            said = ask(name, found.program, evaluation(script, model)).strip()
        except TailcutError:
            continue
        if said in (b"sat", b"unsat"):
            return f"{name} says that the model does not satisfy the script" if said == b"unsat" else None
    return None


def evaluation(script: bytes, model: dict[bytes, bytes]) -> bytes:
    r"""Return the script with the symbols of a model defined instead of declared.

    >>> evaluation(b"(declare-const x Int)(assert (< x 3))(check-sat)", {b"x": b"(define-fun x () Int 5)"})
    b'(define-fun x () Int 5)\n(assert (< x 3))\n(check-sat)\n'
    """
    lines: list[bytes] = []
    defined = False
    for start, end in commands(script):
        command = script[start:end]
        declared = _DECLARED.match(command)
        if declared and not defined:
            lines += model.values()
            defined = True
        if not (declared and declared[1] in model):
            lines.append(command)
        if re.match(rb"\(\s*check-sat", command):
            break
    return b"\n".join(lines) + b"\n"


def model_of(output: bytes) -> dict[bytes, bytes]:
    r"""Return the definitions in a model by the symbols they define; empty if anything else stands in it.

    >>> model_of(b"sat\n((define-fun x () Int 5))")
    {b'x': b'(define-fun x () Int 5)'}
    """
    _, _, rest = output.partition(b"(")
    inner = re.sub(rb"\A\s*model\b", b"", rest[: rest.rfind(b")")])
    definitions = {}
    for start, end in commands(inner):
        definition = inner[start:end]
        name = re.match(rb"\(\s*define-fun\s+(\|[^|]*\||[^\s()]+)", definition)
        if name is None:
            return {}
        definitions[name[1]] = definition
    return definitions


def extract(path: str | Path) -> dict[str, float | None]:
    text = read_bytes(path)
    tokens = _TOKEN.findall(text[:_COUNTED])
    counts = Counter(tokens)
    total = max(len(tokens), 1)
    words = [word for word in counts if word not in (b"(", b")") and not word.startswith((b";", b'"'))]
    logic = _LOGIC.search(text[:_COUNTED])
    name = logic[1] if logic else b"ALL"
    open_here = accumulate((token == b"(") - (token == b")") for token in tokens)
    depths = [depth for token, depth in zip(tokens, open_here, strict=True) if token == b"("]
    return {
        "log_bytes": math.log1p(len(text)),
        "log_tokens": math.log1p(total),
        "log_symbols": math.log1p(len(words)),
        "log_declarations": math.log1p(counts[b"declare-fun"] + counts[b"declare-const"]),
        "log_asserts": math.log1p(counts[b"assert"]),
        "depth_max": math.log1p(max(depths, default=0)),
        "depth_mean": math.log1p(sum(depths) / max(len(depths), 1)),
        "numerals": sum(count for word, count in counts.items() if word[:1].isdigit()) / total,
        "log_widest": math.log1p(max(map(int, _WIDTH.findall(text[:_COUNTED])), default=0)),
        **{f"logic_{what}": float(bool(re.search(pattern, name))) for what, pattern in _THEORIES.items()},
        **{what: sum(counts[word] for word in group) / total for what, group in _WORDS.items()},
    }


features = partial(print_features, __name__, extract, "SMT-LIB 2 script")
verify = entry_point(__name__, print_verdict, "SMT-LIB 2 script", refuted)
