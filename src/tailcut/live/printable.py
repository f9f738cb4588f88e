"""Makes foreign text safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return a text with its control characters escaped: a name must not move the cursor.

    >>> printable("a\x1b[31m\nb.cnf")
    'a\\x1b[31m\\nb.cnf'
    >>> printable("formulas/größer als 3.cnf")
    'formulas/größer als 3.cnf'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
