"""Features of any file: ``python -m tailcut.domains.file_features FILE``.

Size, how well it compresses, and statistics of bytes, lines and words, of its first mebibyte: they separate
families of instances when nothing is known about their language. A portfolio without [features] and without a
domain uses them.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tailcut.domains.programs import entry_point, print_features, read_bytes

_MOST = 2**20
"""Bytes that are looked at."""
_SAMPLE = 2**17
"""Bytes that are compressed: a few milliseconds."""
_NUMBER = re.compile(rb"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w.])")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_DIGITS, _LETTERS = b"0123456789", bytes(range(65, 91)) + bytes(range(97, 123))
_SPACES, _BRACKETS = b" \t\r\n\v\f", b"()[]{}<>"


def extract(path: str | Path) -> dict[str, float]:
    """Return the features of a file by name; a compressed file is described by its content."""
    data = read_bytes(path, _MOST + 1)
    whole = len(data) <= _MOST
    size = len(data) if whole else Path(path).stat().st_size
    data = data[:_MOST]
    sample = data[:_SAMPLE]
    return {
        "log_size": math.log1p(size),
        "compressed": len(zlib.compress(sample, 1)) / max(len(sample), 1),
        "byte_entropy": _entropy(Counter(data)),
        "digits": _share(data, _DIGITS),
        "letters": _share(data, _LETTERS),
        "spaces": _share(data, _SPACES),
        "brackets": _share(data, _BRACKETS),
        **_lines(data),
        **_words(data),
        **_numbers(data),
    }


def _share(data: bytes, kind: bytes) -> float:
    return (len(data) - len(data.translate(None, kind))) / max(len(data), 1)


def _entropy(counts: Mapping[int, int] | Mapping[bytes, int]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values()) if total else 0.0


def _lines(data: bytes) -> dict[str, float]:
    lines = data.splitlines()
    lengths = list(map(len, lines)) or [0]
    mean = sum(lengths) / len(lengths)
    deviation = math.sqrt(sum((length - mean) ** 2 for length in lengths) / len(lengths))
    return {
        "log_lines": math.log1p(len(lines)),
        "line_mean": math.log1p(mean),
        "line_spread": deviation / (mean + 1.0),
        "line_max": math.log1p(max(lengths)),
        "distinct_lines": len(set(lines)) / max(len(lines), 1),
    }


def _words(data: bytes) -> dict[str, float]:
    counts = Counter(_WORD.findall(data))
    total = sum(counts.values())
    return {
        "log_words": math.log1p(total),
        "distinct_words": len(counts) / max(total, 1),
        "word_entropy": _entropy(counts),
        "commonest_word": max(counts.values(), default=0) / max(total, 1),
    }


def _numbers(data: bytes) -> dict[str, float]:
    counts = Counter(_NUMBER.findall(data))
    total = sum(counts.values())
    sizes = [(math.log1p(abs(float(text))), count) for text, count in counts.items() if len(text) < 300]
    negative = sum(count for text, count in counts.items() if text.startswith(b"-"))
    fractions = sum(count for text, count in counts.items() if b"." in text)
    return {
        "log_numbers": math.log1p(total),
        "distinct_numbers": len(counts) / max(total, 1),
        "number_mean": sum(size * count for size, count in sizes) / max(total, 1),
        "number_max": max((size for size, _ in sizes), default=0.0),
        "negative_numbers": negative / max(total, 1),
        "fractions": fractions / max(total, 1),
    }


main = entry_point(__name__, print_features, extract, "file")
