"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> counted(1, "instance"), counted(0, "instance")
    ('1 instance', '0 instances')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
