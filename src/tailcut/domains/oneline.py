"""A parser of arguments that reports a wrong call in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from tailcut.errors import InputError


class OneLineParser(argparse.ArgumentParser):
    """Raises `InputError` where argparse would print the usage and exit.

    >>> OneLineParser(prog="x").parse_args(["y"])
    Traceback (most recent call last):
    tailcut.errors.InputError: unrecognized arguments: y
    """

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong."""
        raise InputError(message)
