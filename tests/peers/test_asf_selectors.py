"""ASF's selectors: what they are given, and that their word is taken."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("asf", reason="needs asf: pip install 'tailcut[asf]'")
pytest.importorskip("sksurv", reason="needs sksurv: pip install 'tailcut[asf]'")
pytest.importorskip("clingo", reason="needs clingo: pip install 'tailcut[asf]'")

import asf.selectors
import pandas as pd
from asf.predictors import RandomForestClassifierWrapper, RandomForestRegressorWrapper

from tailcut import Selector
from tailcut.numerics.randomness import stream
from tailcut.peers.forests import AsfMultiClass, AsfPairwise, AsfPerformance, AsfSelector
from tailcut.scenarios.synthetic import generate
from tailcut.types import Array

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LOSSES = (
    np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, np.full(60, 0.6)]).astype(float) + RNG.random((60, 3)) / 10
)
NOISY = np.repeat(RNG.integers(0, 2, size=(40, 3)).astype(float), 2, axis=0)
"""Few different instances, so that leaves are mixed and votes are level."""
NOISY_LOSSES = np.where(RNG.random((80, 6)) < 0.4, 1.0, np.round(RNG.random((80, 6)), 1) * 0.3)
NOISY_LOSSES[40:, 5] = NOISY_LOSSES[40:, 2]  # two algorithms that often lose the same
DATA = {"clear": (X, LOSSES), "noisy": (NOISY, NOISY_LOSSES)}
MODELS = {
    "MultiClassClassifier": RandomForestClassifierWrapper,
    "PairwiseClassifier": RandomForestClassifierWrapper,
    "PerformanceModel": RandomForestRegressorWrapper,
}


def _model(selector: str, x: Array = X, losses: Array = LOSSES) -> AsfSelector:
    kinds = {kind.kind: kind for kind in (AsfMultiClass, AsfPairwise, AsfPerformance)}
    model = kinds[selector](n_algorithms=losses.shape[1], n_features=x.shape[1], seed=3, trees=8)
    model.update_many(x, losses)
    return model


def _frame(values: Array) -> Any:
    return pd.DataFrame(values, columns=[str(k) for k in range(values.shape[1])])


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("selector", MODELS)
def test_the_choice_is_that_of_asf_called_by_hand(selector: str, data: str) -> None:
    x, losses = DATA[data]
    model = _model(selector, x, losses)
    state = int(stream(3, selector).integers(2**31))
    settings = {"n_estimators": 8, "min_samples_leaf": 1, "random_state": state}
    options = {"normalize": "none"} if selector == "PerformanceModel" else {}
    by_hand = getattr(asf.selectors, selector)(partial(MODELS[selector], init_params=settings), **options)
    by_hand.fit(_frame(x), _frame(losses))
    others = np.vstack([x, x + RNG.normal(scale=0.3, size=x.shape)])
    expected = by_hand.predict(_frame(others))
    chosen = [str(int(np.argmin(model.predict(row)[0]))) for row in others]
    assert chosen == [expected[row][0][0] for row in range(len(others))]
    assert len(set(chosen)) > 1


def test_asf_gets_features_and_losses_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, Any]] = []
    fit = asf.selectors.MultiClassClassifier.fit

    def noted(self: Any, features: Any, performance: Any, **more: Any) -> None:
        given.append((features, performance))
        fit(self, features, performance, **more)

    monkeypatch.setattr(asf.selectors.MultiClassClassifier, "fit", noted)
    model = _model("MultiClassClassifier")
    for x in X[:3]:
        model.predict(x)
    ((features, performance),) = given
    assert (features.to_numpy().tolist(), performance.to_numpy().tolist()) == (X.tolist(), LOSSES.tolist())


@pytest.mark.parametrize("name", ["asf_multi_class", "asf_pairwise", "asf_performance"])
def test_rows_choose_better_than_by_chance_and_are_saved(name: str, tmp_path: Path) -> None:
    scenario = generate(n_instances=120, n_algorithms=4, n_features=5, timeouts=0.4, seed=7)
    selector = Selector(name, scenario.algorithms, scenario.cutoff, trees=15)
    known = np.zeros((120, 4), dtype=np.bool_)
    known[:90] = True
    selector.fit(scenario, known=known)
    selector.save(tmp_path / "state")
    again = Selector.load(tmp_path / "state")
    solved = []
    for row in range(90, 120):
        chosen = selector.select(scenario.features[row]).algorithm
        assert again.select(scenario.features[row]).algorithm == chosen
        solved.append(scenario.solved[row, scenario.algorithms.index(chosen)])
    assert np.mean(solved) > scenario.solved[90:].mean()
