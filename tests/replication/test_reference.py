"""Each decision against plain loops written from the paper's pseudo-code and the list of departures.

The loops share nothing with the package: one algorithm at a time, dictionaries, the standard library's
error function, an inverse by solving.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailcut.replication import ExperimentData, approach
from tailcut.replication.experiment import choices

from .examples import random_table


def PHI(z: float) -> float:  # noqa: N802 - the letter of the formulas
    """Through erfc: 1 + erf loses all digits in the lower tail, where these formulas live."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def arrival_order(n: int, rng: np.random.RandomState) -> list[int]:
    positions = rng.permutation(n)
    row_at = {int(position): row for row, position in enumerate(positions)}
    return [row_at[position] for position in range(n)]


def imputed(raw: np.ndarray, means: list[float]) -> list[float]:
    return [means[j] if math.isnan(value) else float(value) for j, value in enumerate(raw)]


def unit(vector: list[float]) -> np.ndarray:
    return np.array(vector) / math.sqrt(sum(value * value for value in vector))


def moved(means: list[float], vector: list[float], seen: int) -> list[float]:
    return [mean + (value - mean) / seen for mean, value in zip(means, vector, strict=True)]


def linucb_decisions(table: ExperimentData, seed: int, *, corrected: bool, randomised: bool) -> list[int]:
    """Return the choices of the `*_rev` variants."""
    (n, d), k = table.features.shape, table.performances.shape[1]
    rng = np.random.RandomState(seed)
    c, s = math.log(table.cutoff), 10.0
    gram = {a: np.eye(d) for a in range(k)}
    moment = {a: np.zeros(d) for a in range(k)}
    tried: set[int] = set()
    timeouts = dict.fromkeys(range(k), 0)
    means = [0.0] * d
    decisions = []
    for step, row in enumerate(arrival_order(n, rng)):
        full = imputed(table.features[row], means)
        x = unit(full)
        losses = []
        for a in range(k):
            if a not in tried:
                losses.append(-1.1e6)
                continue
            mu = float(x @ np.linalg.solve(gram[a], moment[a]))
            width = math.sqrt(float(x @ np.linalg.solve(gram[a], x)))
            if corrected:
                width *= 2.0 * c * math.sqrt(timeouts[a])
            if randomised:
                width *= abs(0.25 * float(rng.standard_normal()))
            o, p = mu - width, mu + width
            first = math.exp(o + s * s / 2) * PHI((c - p - s * s) / s) / PHI((c - o) / s)
            second = math.exp(p + s * s / 2) * PHI((c - o - s * s) / s) / PHI((c - p) / s)
            losses.append(first + (1.0 - PHI((c - p) / s)) * (math.log(10.0 * table.cutoff) - second))
        choice = min(range(k), key=lambda a: losses[a])
        decisions.append(choice)
        m = float(table.performances[row, choice])
        booked = k - 1 if step == 0 else choice
        tried.add(booked)
        timeouts[booked] += m >= table.cutoff
        if m < table.cutoff or corrected:
            gram[booked] = gram[booked] + np.outer(x, x)
            moment[booked] = moment[booked] + math.log(max(min(m, table.cutoff), 1e-4)) * x
        means = moved(means, full, step + 1)
    return decisions


def thompson_decisions(table: ExperimentData, seed: int, *, buckley_james: bool) -> list[int]:
    """Return the choices of the `*_rev` variants, eta drawn as a scalar."""
    (n, d), k = table.features.shape, table.performances.shape[1]
    rng = np.random.RandomState(seed)
    c = math.log(table.cutoff)
    gram = {a: 0.5 * np.eye(d) for a in range(k)}
    moment = {a: np.zeros(d) for a in range(k)}
    tried: set[int] = set()
    means = [0.0] * d
    decisions = []
    for step, row in enumerate(arrival_order(n, rng)):
        full = imputed(table.features[row], means)
        x = unit(full)
        losses = []
        for a in range(k):
            if a not in tried:
                losses.append(-1e6)
                continue
            v = float(x @ np.linalg.solve(gram[a], x))
            eta = float(x @ np.linalg.solve(gram[a], moment[a])) + math.sqrt(v) * float(rng.standard_normal())
            root = math.sqrt(v)
            mean = math.exp(eta + v / 2) * PHI((c - eta - v / 2) / root) / PHI((c - eta) / root)
            late = 1.0 - PHI((c - eta) / v)
            losses.append(mean + late * (math.log(10.0 * table.cutoff) - mean))
        choice = min(range(k), key=lambda a: losses[a])
        decisions.append(choice)
        m = float(table.performances[row, choice])
        booked = k - 1 if step == 0 else choice
        tried.add(booked)
        y = math.log(m or 1e-4) if m < table.cutoff else c
        if m >= table.cutoff and buckley_james:
            v = float(x @ np.linalg.solve(gram[booked], x))
            mu = float(x @ np.linalg.solve(gram[booked], moment[booked]))
            for _ in range(19):
                draw = mu + math.sqrt(v) * float(rng.standard_normal())
                if draw > c:
                    y = draw
                    break
        gram[booked] = gram[booked] + np.outer(x, x)
        moment[booked] = moment[booked] + y * x
        means = moved(means, full, step + 1)
    return decisions


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("randomised", [False, True])
def test_linucb_rev_decides_step_by_step_as_the_loops(seed: int, corrected: bool, randomised: bool) -> None:
    table = random_table(seed)
    name = ("rand_" if randomised else "") + ("bclinucb_rev" if corrected else "blinducb_rev")
    _, ours = choices(table, approach(name), seed)
    assert ours.tolist() == linucb_decisions(table, seed, corrected=corrected, randomised=randomised)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("buckley_james", [False, True])
def test_thompson_rev_decides_step_by_step_as_the_loops(seed: int, buckley_james: bool) -> None:
    table = random_table(seed)
    _, ours = choices(table, approach("bj_thompson_rev" if buckley_james else "thompson_rev"), seed)
    assert ours.tolist() == thompson_decisions(table, seed, buckley_james=buckley_james)


def test_the_bias_corrected_loops_leave_an_algorithm_untried() -> None:
    """Else the cases above would not tell a finite score of the untried from a forced first run."""
    firsts = [
        len(set(linucb_decisions(random_table(s), s, corrected=True, randomised=False))) for s in range(1, 6)
    ]
    assert min(firsts) < 4
