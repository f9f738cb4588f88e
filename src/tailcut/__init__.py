"""Tailcut picks the algorithm: online algorithm selection under censored feedback.

The data flow, and the folder of each step:

    features -> representation -> models -> policies -> decision      (Selector.select)
    outcome  -> policies (targets, censoring) -> models               (Selector.observe)
    unsolved -> schedules -> decision, while time is left             (Selector.proceed)

`Selector` is the entry point; `tailcut.catalogue` lists the selectors by name, each a row of parts;
docs/background/design.md follows one decision and one outcome through the files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcut.catalogue import CATALOGUE, register
    from tailcut.errors import TailcutError
    from tailcut.explain import Explanation
    from tailcut.policies.recipes import Recipe, ScheduleRecipe
    from tailcut.scenarios import Scenario
    from tailcut.selector import Selector
    from tailcut.types import Decision, Outcome, Request, SelectorLike

__version__ = "0.3.0"

_HOMES = {
    "CATALOGUE": "tailcut.catalogue",
    "Decision": "tailcut.types",
    "Explanation": "tailcut.explain",
    "Outcome": "tailcut.types",
    "Recipe": "tailcut.policies.recipes",
    "Request": "tailcut.types",
    "Scenario": "tailcut.scenarios",
    "ScheduleRecipe": "tailcut.policies.recipes",
    "Selector": "tailcut.selector",
    "SelectorLike": "tailcut.types",
    "TailcutError": "tailcut.errors",
    "register": "tailcut.catalogue",
}
"""Where each public name is defined. It is imported when it is first used, because importing NumPy and SciPy
dominates the time of a short command, and many commands need neither."""

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tailcut' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
