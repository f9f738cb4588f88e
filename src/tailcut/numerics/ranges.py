"""Which numbers a hyperparameter may be: written beside the parameter that it bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Range:
    """Which numbers a hyperparameter may be; all must be finite.

    >>> str(Range(above=0.0)), str(Range(at_least=0.0, at_most=1.0))
    ('> 0', '>= 0 and <= 1')
    """

    above: float = -math.inf
    at_least: float = -math.inf
    below: float = math.inf
    at_most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.above < value < self.below and self.at_least <= value <= self.at_most

    def __str__(self) -> str:
        bounds = ((">", self.above), (">=", self.at_least), ("<", self.below), ("<=", self.at_most))
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))


Positive = Annotated[float, Range(above=0.0, at_most=1e12)]
NonNegative = Annotated[float, Range(at_least=0.0, at_most=1e12)]
Share = Annotated[float, Range(above=0.0, below=1.0)]
Probability = Annotated[float, Range(at_least=0.0, at_most=1.0)]
Flag = Annotated[int, Range(at_least=0, at_most=1)]
"""0: no, 1: yes."""
Penalty = Annotated[float, Range(at_least=1.0, at_most=1e6)]
"""The k of PARk."""
Window = Annotated[int, Range(at_least=0, at_most=10_000_000)]
"""How many of the latest runs count; 0 for all."""
TreeCount = Annotated[int, Range(at_least=1, at_most=10_000)]
Count = Annotated[int, Range(at_least=1, at_most=10_000_000)]
