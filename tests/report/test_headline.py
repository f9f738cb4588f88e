"""The summary in words claims what the numbers say, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tailcut.bench.ranks import Ranking
from tailcut.bench.store import opened
from tailcut.report.reports import headline
from tailcut.report.results import Results, load
from tailcut.report.standings import Standing
from tests.report.conftest import paragraphs

GOOD = Standing("thompson", 3, 0.75, 1.2, 1.3, 2, 3, 0.1, 50.0)
BAD = replace(GOOD, selector="epsilon_greedy", npar_mean=1.5, beats_sbs=0, wins=0)
SBS = replace(GOOD, selector="sbs", npar_mean=1.0, beats_sbs=0)
RANKED = Ranking(("thompson", "epsilon_greedy"), ("x", "y", "z"), (1.2, 1.8), (2, 1), 1.0, 0.3, 1.1, 0.05)


@pytest.fixture
def loaded(results: Path) -> Results:
    with opened(results, read_only=True) as store:
        return load(store)


def test_a_selector_better_than_the_single_best_is_said_to_be(loaded: Results) -> None:
    text = " ".join(paragraphs(headline(loaded, [GOOD, SBS, BAD], RANKED)))
    assert "thompson has the lowest mean nPAR10: 0.75" in text
    assert "beats the single best solver on 3 of 3 scenarios" in text
    assert "closes 25% of the gap" in text
    assert "ignores features" not in text


def test_one_that_is_worse_is_said_to_be_worse(loaded: Results) -> None:
    text = " ".join(paragraphs(headline(loaded, [SBS, BAD], None)))
    assert "beats the single best solver on 0 of 3 scenarios" in text
    assert "it costs more than always running the best solver" in text
    assert "it pays 0.50 times the gap" in text
    assert "epsilon_greedy ignores features" in text


def test_ranks_within_the_critical_difference_are_not_called_different(loaded: Results) -> None:
    text = paragraphs(headline(loaded, [GOOD, SBS, BAD], RANKED))[-1]
    assert "cannot be distinguished (Friedman, p = 0.3)" in text
    assert "thompson is not significantly better than epsilon_greedy" in text
    apart = paragraphs(
        headline(loaded, [GOOD, SBS, BAD], replace(RANKED, critical_difference=0.1, friedman_p=0.001))
    )[-1]
    assert "not significantly better" not in apart
    assert "the selectors differ" in apart
