"""For people who write selectors: the checks that every selector must pass.

>>> from tailcut.testing import CHECKS, factory
>>> for check in CHECKS:
...     check(factory("thompson"))
"""

from tailcut.testing.conformance import CHECKS, Factory, factory

__all__ = ["CHECKS", "Factory", "factory"]
