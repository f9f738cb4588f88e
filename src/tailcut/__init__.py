"""Tailcut picks the algorithm: online algorithm selection under censored feedback.

The data flow, and where each step lives:

    features -> representation -> models -> exploration -> losses -> decision     (Selector.select)
    outcome  -> targets, censoring -> models                                     (Selector.observe)
    unsolved -> schedules -> decision, while time is left                        (Selector.proceed)

`Selector` is the door; `tailcut.catalogue` lists the selectors by name, each a row of parts.
"""

from tailcut.catalogue import CATALOGUE, register
from tailcut.errors import TailcutError
from tailcut.explain.explanation import Explanation
from tailcut.policies.recipes import Recipe, ScheduleRecipe
from tailcut.scenarios import Scenario
from tailcut.selector import Selector
from tailcut.types import Decision, Outcome

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "Decision",
    "Explanation",
    "Outcome",
    "Recipe",
    "Scenario",
    "ScheduleRecipe",
    "Selector",
    "TailcutError",
    "__version__",
    "register",
]
