"""What river's forests are shown: features by name, and losses, each forest those of its algorithm."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("river", reason="needs river: pip install 'tailcut[peers]'")

from river import forest

from tailcut.numerics.randomness import stream
from tailcut.peers.bandits import RiverForests, named

ROWS = np.random.default_rng(0).normal(size=(40, 3))


def test_each_forest_learns_the_losses_of_its_algorithm() -> None:
    model = RiverForests(n_algorithms=2, n_features=3, seed=4, trees=3)
    seed = int(stream(4, "river forest 1").integers(2**31))
    by_hand = forest.ARFRegressor(seed=seed, n_models=3)
    for x in ROWS:
        loss = float(x[0] > 0.0)
        model.update(1, x, loss, 1.0)
        by_hand.learn_one({3: x[0], 2: x[1], 1: x[2]}, loss)
    assert model.predict(ROWS[0])[0].tolist() == [0.0, by_hand.predict_one(named(ROWS[0]))]


def test_a_run_of_no_weight_teaches_nothing() -> None:
    model = RiverForests(n_algorithms=1, n_features=3, trees=2)
    model.update(0, ROWS[0], 1.0, 0.0)
    assert model.predict(ROWS[0])[0].tolist() == [0.0]
