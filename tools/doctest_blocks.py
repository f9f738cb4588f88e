"""Show examples in docstrings as code, and link the pages they name: an extension of griffe for the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""From a prompt to the next empty line, as doctest has it."""

_PAGE = re.compile(r"\bdocs/([a-z]+/[a-z-]+)\.md")


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


def linked(text: str) -> str:
    """Return a docstring with a link to each page that it names, from the page of the API.

    >>> linked("See docs/howto/live.md.")
    'See [docs/howto/live.md](../howto/live.md).'
    """
    return _PAGE.sub(r"[\g<0>](../\1.md)", text)


class DoctestBlocks(griffe.Extension):
    """Fences the examples of every object, and links the pages that it names."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite its docstring."""
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = fenced(linked(obj.docstring.value))
