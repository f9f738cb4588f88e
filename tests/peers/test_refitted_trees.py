"""When scikit-learn's trees are fitted, and on what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'tailcut[peers]'")

from sklearn.ensemble import ExtraTreesRegressor

from tailcut.numerics.randomness import stream
from tailcut.peers.forests import RefittedTrees

ROWS = np.random.default_rng(0).normal(size=(30, 4))


def _model(**options: Any) -> RefittedTrees:
    return RefittedTrees(n_algorithms=2, n_features=4, seed=2, trees=5, **options)


def test_predictions_are_those_of_the_forest_on_all_outcomes_so_far() -> None:
    model, losses = _model(refit=10), ROWS[:, 0] ** 2
    for x, loss in zip(ROWS[:20], losses, strict=False):
        model.update(1, x, float(loss), 1.0)
    state = int(stream(2, "trees of 20").integers(2**31))
    by_hand = ExtraTreesRegressor(n_estimators=5, random_state=state).fit(ROWS[:20], losses[:20])
    found = np.array([model.predict_one(1, x)[0] for x in ROWS])
    assert found == pytest.approx(by_hand.predict(ROWS), rel=1e-6)
    assert model.predict_one(0, ROWS[0]) == (0.0, 0.0), "nothing is known of the other"


def test_it_is_fitted_every_ten_outcomes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = ExtraTreesRegressor.fit

    def noted(self: Any, inputs: Any, targets: Any) -> Any:
        sizes.append(len(targets))
        return real(self, inputs, targets)

    monkeypatch.setattr(ExtraTreesRegressor, "fit", noted)
    model = _model(refit=10)
    for x in ROWS:
        model.update(0, x, 1.0, 1.0)
        model.predict(x)
    assert sizes == [1, 10, 20, 30], "at the first outcome, and then at every tenth"


def test_recorded_runs_are_fitted_at_once() -> None:
    model = _model()
    model.update_many(ROWS, np.column_stack([ROWS[:, 0], np.full(30, np.nan)]))
    assert model.fitted_on == [30, 0]


def test_a_restored_one_predicts_the_same_between_two_fits() -> None:
    model, again = _model(refit=10), _model(refit=10)
    for x in ROWS[:17]:
        model.update(0, x, float(x[1]), 1.0)
    again.restore(model.state())
    assert again.fitted_on == [10, 0]
    assert [again.predict(x)[0].tolist() for x in ROWS] == [model.predict(x)[0].tolist() for x in ROWS]
