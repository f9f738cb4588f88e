"""Features of a script, from one pass over its text: ``python -m tailcut.domains.smt.features FILE``.

Its logic, the sorts and operators it names, its sizes and how deep it is nested. Of long scripts the first
4 MiB are counted; sizes are those of the whole.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tailcut.domains.programs import entry_point, print_features, read_bytes

_MOST = 4 * 2**20
_TOKEN = re.compile(rb';[^\n]*|"[^"]*"|\|[^|]*\||[()]|[^\s()|";]+')
_LOGIC = re.compile(rb"\(\s*set-logic\s+([A-Z_]+)")
_WIDTH = re.compile(rb"BitVec\s+(\d{1,6})")
_THEORIES = {
    "quantifiers": rb"^(?!QF_)", "functions": rb"UF", "arrays": rb"^(QF_)?A(?!LL)", "bit_vectors": rb"BV",
    "floating_point": rb"FP", "datatypes": rb"DT", "strings": rb"S(LIA|NIA)?$", "integers": rb"I(R?A|DL)",
    "reals": rb"R(A|DL)", "nonlinear": rb"N(I|R)", "difference": rb"DL$",
}  # fmt: skip
_GROUPS = {
    "declarations": b"declare-fun declare-const", "definitions": b"define-fun define-fun-rec",
    "asserts": b"assert", "checks": b"check-sat check-sat-assuming", "lets": b"let",
    "forall": b"forall", "exists": b"exists", "and": b"and", "or": b"or", "not": b"not", "xor": b"xor",
    "implies": b"=>", "equals": b"=", "distinct": b"distinct", "ite": b"ite",
    "bool": b"Bool", "int": b"Int", "real": b"Real", "bitvec": b"BitVec", "array": b"Array",
    "plus": b"+ -", "times": b"*", "divide": b"/ div mod abs", "order": b"<= < >= >",
    "select": b"select", "store": b"store",
    "bv_arithmetic": b"bvadd bvsub bvneg", "bv_multiply": b"bvmul bvudiv bvurem bvsdiv bvsrem bvsmod",
    "bv_logic": b"bvand bvor bvxor bvnot bvnand bvnor bvxnor", "bv_shift": b"bvshl bvlshr bvashr",
    "bv_order": b"bvult bvule bvugt bvuge bvslt bvsle bvsgt bvsge",
    "bv_shape": b"concat extract zero_extend sign_extend repeat rotate_left rotate_right",
    "fp_operators": b"fp.add fp.sub fp.mul fp.div fp.fma fp.sqrt fp.rem fp.lt fp.leq fp.gt fp.geq fp.eq",
    "str_operators": b"str.++ str.len str.at str.substr str.contains str.indexof str.replace str.in_re",
}  # fmt: skip


def extract(path: str | Path) -> dict[str, float | None]:
    text = read_bytes(path)
    tokens = _TOKEN.findall(text[:_MOST])
    counts = Counter(tokens)
    total = max(len(tokens), 1)
    words = [word for word in counts if word not in (b"(", b")") and not word.startswith((b";", b'"'))]
    logic = _LOGIC.search(text[:_MOST])
    name = logic[1] if logic else b"ALL"
    depths = _depths(tokens)
    return {
        "log_bytes": math.log1p(len(text)),
        "log_tokens": math.log1p(total),
        "log_symbols": math.log1p(len(words)),
        "log_declarations": math.log1p(counts[b"declare-fun"] + counts[b"declare-const"]),
        "log_asserts": math.log1p(counts[b"assert"]),
        "depth_max": math.log1p(max(depths, default=0)),
        "depth_mean": math.log1p(sum(depths) / max(len(depths), 1)),
        "numerals": sum(count for word, count in counts.items() if word[:1].isdigit()) / total,
        "log_widest": math.log1p(max(map(int, _WIDTH.findall(text[:_MOST])), default=0)),
        **{f"logic_{what}": float(bool(re.search(pattern, name))) for what, pattern in _THEORIES.items()},
        **{what: sum(counts[word] for word in group.split()) / total for what, group in _GROUPS.items()},
    }


def _depths(tokens: Sequence[bytes]) -> list[int]:
    """Return how many brackets are open at each opening one."""
    depths = []
    depth = 0
    for token in tokens:
        if token == b"(":
            depth += 1
            depths.append(depth)
        elif token == b")":
            depth -= 1
    return depths


main = entry_point(__name__, print_features, extract, "SMT-LIB 2 script")
