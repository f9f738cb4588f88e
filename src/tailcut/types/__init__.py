"""The values that cross every boundary: Request, Decision, Outcome, Progress, Belief, Estimate, Forecasts.

Each is frozen. Input is checked once, when the value is created, and all later code relies on that. Whether a
run was censored is a field, set by the code that stopped the run: Tailcut never infers it by comparing times.
"""

from tailcut.types.arrays import Array, Features
from tailcut.types.beliefs import Belief, Estimate, Forecasts, Progress, Quantity
from tailcut.types.decisions import Decision, Origin
from tailcut.types.outcome import PENALTY, Outcome, Status
from tailcut.types.requests import Request

__all__ = [
    "PENALTY",
    "Array",
    "Belief",
    "Decision",
    "Estimate",
    "Features",
    "Forecasts",
    "Origin",
    "Outcome",
    "Progress",
    "Quantity",
    "Request",
    "Status",
]
