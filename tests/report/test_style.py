"""Colours: one look per selector, families apart also for colour-blind eyes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tailcut.catalogue import BASELINES, CATALOGUE
from tailcut.report.style import LOOKS, look
from tailcut.types import Array

# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency",
# IEEE TVCG 2009, severity 1.0; to be applied to linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def _linear(colour: str) -> Array:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _lab(linear: Array) -> Array:
    """CIE L*a*b*, so that distances resemble what eyes see."""
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ np.clip(linear, 0.0, 1.0) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _distance(a: str, b: str, sight: str) -> float:
    matrix = SIGHTS[sight]
    return float(np.linalg.norm(_lab(matrix @ _linear(a)) - _lab(matrix @ _linear(b))))


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_leading_selectors_of_all_families_stay_apart(sight: str) -> None:
    """15 in CIE L*a*b* is plainly visible side by side; these are drawn in one figure."""
    leading = [
        "tailcut",
        "thompson",
        "blinducb",
        "bclinucb",
        "degroote_epsilon_greedy_lr",
        "epsilon_greedy",
        "sbs",
    ]
    for a, b in combinations(leading, 2):
        assert _distance(LOOKS[a].colour, LOOKS[b].colour, sight) > 15, (a, b)


def test_every_selector_has_its_own_look_and_no_two_share_one() -> None:
    lacking = {*CATALOGUE, *BASELINES} - set(LOOKS)
    assert not lacking, f"add to LOOKS in src/tailcut/report/style.py: {', '.join(sorted(lacking))}"
    assert len({(one.colour, str(one.dashes)) for one in LOOKS.values()}) == len(LOOKS)
    assert len({(one.colour, one.marker) for one in LOOKS.values()}) == len(LOOKS)
    linucb, others = (
        {"blind LinUCB", "bc LinUCB"},
        {"ours", "Degroote", "no features", "schedules", "hindsight"},
    )
    assert {one.family for one in LOOKS.values()} == {"Thompson", *linucb, *others}


def test_unknown_names_have_a_look_that_stays() -> None:
    assert look("mine") == look("mine")
    assert look("mine").family == "other"
    assert len({look(f"mine{number}") for number in range(40)}) > 10
