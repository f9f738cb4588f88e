"""Show the examples of docstrings as code: an extension of griffe, which reads docstrings for the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""From a prompt to the next empty line, as doctest has it."""


def fenced(text: str) -> str:
    r"""Return a docstring with each of its examples in a fenced block.

    >>> print(fenced("Add.\n\n>>> 1 + 1\n2\n"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    """
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", text)


class DoctestBlocks(griffe.Extension):
    """Fences the examples of every object."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite its docstring."""
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
