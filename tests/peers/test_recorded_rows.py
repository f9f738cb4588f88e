"""Offline forests: what they are fitted on, and what they vote."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'tailcut[peers]'")

from sklearn.ensemble import RandomForestClassifier

from tailcut import Selector
from tailcut.numerics.randomness import stream
from tailcut.peers.forests import BestLabelForest, PairwiseForests, RecordedRows
from tailcut.scenarios.synthetic import generate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LOSSES = (
    np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, np.full(60, 0.6)]).astype(float) + RNG.random((60, 3)) / 10
)


def _fitted(kind: type[RecordedRows]) -> RecordedRows:
    model = kind(n_algorithms=3, n_features=4, seed=3, trees=7)
    model.update_many(X, LOSSES)
    return model


def test_a_pair_is_weighed_by_how_much_it_matters() -> None:
    model = _fitted(PairwiseForests)
    gap = LOSSES[:, 2] - LOSSES[:, 0]
    state = int(stream(3, "pair 0 2").integers(2**31))
    by_hand = RandomForestClassifier(n_estimators=7, random_state=state).fit(
        X, gap > 0, sample_weight=np.abs(gap)
    )
    model.predict(X[0])
    assert model.forests is not None
    assert model.forests[1].predict_proba(X).tolist() == by_hand.predict_proba(X).tolist()


def test_votes_are_counted_as_by_hand() -> None:
    model = _fitted(PairwiseForests)
    for x in X[:10]:
        found = model.predict(x)[0]
        assert model.forests is not None
        votes = np.zeros(3)
        for (a, b), forest in zip(((0, 1), (0, 2), (1, 2)), model.forests, strict=True):
            votes[a if forest.predict_proba(x[None])[0, 1] > 0.5 else b] += 1
        assert np.round(-found).tolist() == votes.tolist()


def test_the_label_is_the_algorithm_that_lost_least() -> None:
    model = _fitted(BestLabelForest)
    state = int(stream(3, "best label").integers(2**31))
    by_hand = RandomForestClassifier(n_estimators=7, random_state=state).fit(X, LOSSES.argmin(axis=1))
    expected = np.zeros(3)
    expected[by_hand.classes_] = by_hand.predict_proba(X[:1])[0]
    assert -model.predict(X[0])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", [PairwiseForests, BestLabelForest])
def test_rows_with_gaps_are_left_out(kind: type[RecordedRows]) -> None:
    model, gaps = kind(n_algorithms=3, n_features=4), LOSSES.copy()
    gaps[5:, 1] = np.nan
    model.update_many(X, gaps)
    assert model.x.tolist() == X[:5].tolist()


@pytest.mark.parametrize("name", ["pairwise_forests", "best_label_forest"])
def test_after_fit_they_choose_better_than_by_chance(name: str) -> None:
    scenario = generate(n_instances=200, n_algorithms=4, n_features=5, timeouts=0.4, seed=7)
    selector = Selector(name, scenario.algorithms, scenario.cutoff, trees=30)
    known = np.zeros((200, 4), dtype=np.bool_)
    known[:150] = True
    selector.fit(scenario, known=known)
    solved = [
        scenario.solved[row, scenario.algorithms.index(selector.select(scenario.features[row]).algorithm)]
        for row in range(150, 200)
    ]
    assert np.mean(solved) > scenario.solved[150:].mean() + 0.1
