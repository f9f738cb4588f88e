"""Tailcut picks the algorithm: online algorithm selection under censored feedback.

The data flow, and the folder of each step:

    features -> representation -> models -> policies -> decision      (Selector.select)
    outcome  -> policies (targets, censoring) -> models               (Selector.observe)
    unsolved -> schedules -> decision, while time is left             (Selector.proceed)

`Selector` is the way in; `tailcut.catalogue` lists the selectors by name, each a row of parts; docs/design.md
follows one decision and one outcome through the files.
"""

from tailcut.catalogue import CATALOGUE, register
from tailcut.errors import TailcutError
from tailcut.explain.explanation import Explanation
from tailcut.policies.recipes import Recipe, ScheduleRecipe
from tailcut.policies.selector_like import SelectorLike
from tailcut.scenarios import Scenario
from tailcut.selector import Selector
from tailcut.types import Decision, Outcome, Request

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "Decision",
    "Explanation",
    "Outcome",
    "Recipe",
    "Request",
    "Scenario",
    "ScheduleRecipe",
    "Selector",
    "SelectorLike",
    "TailcutError",
    "__version__",
    "register",
]
