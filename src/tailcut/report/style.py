"""One style per selector, the same in every figure: hue by family; shade, dashes and marker within it.

The hues of the families are those of Okabe and Ito ("Color Universal Design", 2008) and a violet chosen
for its distance from them; a test checks that they stay apart under simulated colour blindness.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tailcut.bench.labels import name_of

PAPER = "#ffffff"
"""The background; turned dark on a dark page."""
INK = "#1a1a1a"
"""Text, axes and hindsight baselines; turned light on a dark page."""
INDIGO = "#332288"
"""The first colour of a scenario's algorithms; turned lighter on a dark page."""
FAINT = "#d0d0d1"
"""Grid lines and what stands in the background."""

SOLID, DASHED, DOTTED, DASHDOT = "-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))
Dashes = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """How a selector is drawn."""

    colour: str
    dashes: Dashes
    marker: str
    family: str
    width: float = 1.4


_BLUE, _LIGHT_BLUE = "#0072b2", "#56b4e9"
_RED, _LIGHT_RED = "#d55e00", "#f2a067"
_GREEN, _LIGHT_GREEN = "#009e73", "#63c9a9"
_PINK, _DARK_PINK, _LIGHT_PINK = "#cc79a7", "#9c4676", "#e5b3ce"
_VIOLET, _LIGHT_VIOLET = "#9d24f3", "#c27dfa"
_GOLD, _GREY, _BROWN, _CRIMSON = "#e69f00", "#9a9a9a", "#7a4b1e", "#b00020"

LOOKS = {
    "tailcut": Look(_VIOLET, SOLID, "*", "ours", 2.0),
    "tailcut_schedule": Look(_CRIMSON, SOLID, "P", "schedules", 2.0),
    "bounded_thompson": Look(_LIGHT_VIOLET, DASHDOT, "p", "ours", 1.8),
    "thompson": Look(_BLUE, SOLID, "o", "Thompson"),
    "thompson_rev": Look(_BLUE, DASHED, "s", "Thompson"),
    "bj_thompson": Look(_LIGHT_BLUE, SOLID, "^", "Thompson"),
    "bj_thompson_rev": Look(_LIGHT_BLUE, DASHED, "D", "Thompson"),
    "blinducb": Look(_RED, SOLID, "o", "blind LinUCB"),
    "blinducb_rev": Look(_RED, DASHED, "s", "blind LinUCB"),
    "rand_blinducb": Look(_LIGHT_RED, SOLID, "^", "blind LinUCB"),
    "rand_blinducb_rev": Look(_LIGHT_RED, DASHED, "D", "blind LinUCB"),
    "bclinucb": Look(_GREEN, SOLID, "o", "bc LinUCB"),
    "bclinucb_rev": Look(_GREEN, DASHED, "s", "bc LinUCB"),
    "rand_bclinucb": Look(_LIGHT_GREEN, SOLID, "^", "bc LinUCB"),
    "rand_bclinucb_rev": Look(_LIGHT_GREEN, DASHED, "D", "bc LinUCB"),
    "degroote_epsilon_greedy_lr": Look(_PINK, SOLID, "X", "Degroote"),
    "degroote_epsilon_greedy_rf": Look(_DARK_PINK, DASHED, "v", "Degroote"),
    "degroote_ucb_rf": Look(_LIGHT_PINK, DASHDOT, ">", "Degroote"),
    "epsilon_greedy": Look(_GOLD, SOLID, "h", "no features"),
    "random": Look(_GREY, DOTTED, "x", "no features"),
    "round_robin": Look(_BROWN, DASHDOT, "<", "schedules"),
    "oracle": Look(INK, DOTTED, "1", "hindsight", 1.6),
    "sbs": Look(INK, DASHDOT, "+", "hindsight", 1.6),
    "sbs_train": Look(_GREY, DASHDOT, "4", "hindsight", 1.2),
    "sbs_pair": Look(INK, DASHED, "2", "hindsight", 1.2),
    "sbs_schedule": Look(INK, SOLID, "3", "hindsight", 1.2),
}
FAMILIES = ("ours", "Thompson", "blind LinUCB", "bc LinUCB", "Degroote", "no features", "schedules",
            "hindsight", "other")  # fmt: skip

_SPARE_COLOURS = ("#882255", "#117733", "#332288", "#999933", "#aa4499", "#44aa99")
_SPARE_MARKERS = ("p", "<", "d", "8", "H")

ALGORITHMS = (INDIGO, "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499")
"""Colours of a scenario's algorithms: Paul Tol's scheme "muted" (technical note, 2021)."""
OTHER_ALGORITHMS = "#bbbbbb"


def look(selector: str) -> Look:
    """Return how a selector is drawn; an unknown name gets a style that depends on the name alone.

    >>> look("thompson:noise_variance=2.0").family
    'Thompson'
    """
    if selector in LOOKS:
        return LOOKS[selector]
    number = int.from_bytes(hashlib.sha256(selector.encode()).digest()[:4], "big")
    colour = _SPARE_COLOURS[number % len(_SPARE_COLOURS)]
    marker = _SPARE_MARKERS[number // 7 % len(_SPARE_MARKERS)]
    dashes = (SOLID, DASHED, DASHDOT)[number // 41 % 3]
    base = LOOKS.get(name_of(selector))
    return Look(colour, dashes, marker, base.family if base else "other")
