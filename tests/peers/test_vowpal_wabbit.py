"""What Vowpal Wabbit reads: examples, costs and probabilities; and that choices follow its probabilities."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("vowpalwabbit", reason="needs vowpalwabbit: pip install 'tailcut[peers]'")

from vowpalwabbit import Workspace

from tailcut.numerics.randomness import Still
from tailcut.peers.bandits import ByProbability, VowpalWabbit
from tailcut.types import Belief

X = np.array([0.5, -2.0])


def _model(**options: object) -> VowpalWabbit:
    return VowpalWabbit(n_algorithms=3, n_features=2, seed=1, **options)  # type: ignore[arg-type]


def test_an_instance_is_a_multi_line_example() -> None:
    assert _model().example(X) == ["shared |x f2:0.5 f1:-2", "|a a0", "|a a1", "|a a2"]


def test_costs_stand_before_the_action_with_their_probability() -> None:
    model, by_hand = _model(explore=0.1), Workspace(_model(explore=0.1).arguments)
    for step in range(9):
        chosen = by_hand.predict(model.example(X))[step % 3]
        lines = model.example(X)
        lines[1 + step % 3] = f"0:{step / 10}:{chosen:.9g} |a a{step % 3}"
        by_hand.learn(lines)
        model.update(step % 3, X, step / 10, 1.0)
    assert model.losses(X).tolist() == (-np.log(by_hand.predict(model.example(X)))).tolist()


def test_recorded_runs_were_chosen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _model()
    seen: list[list[str]] = []
    monkeypatch.setattr(model.workspace, "learn", seen.append)
    model.update_many(X[None], np.array([[0.25, np.nan, 1.0]]))
    assert [[line for line in lines if line[0] == "0"] for lines in seen] == [
        ["0:0.25:1 |a a0"],
        ["0:1:1 |a a2"],
    ]


@pytest.mark.parametrize("explorer", VowpalWabbit.EXPLORERS)
def test_it_learns_which_algorithm_is_best(explorer: str) -> None:
    explore = {"squarecb": 1000.0, "softmax": 20.0}.get(explorer, 0.01)
    model, rng = _model(explorer=explorer, explore=explore), np.random.default_rng(0)
    for _ in range(300):
        chosen = int(rng.integers(3))
        model.update(chosen, X, 0.0 if chosen == 1 else 1.0, 1.0)
    assert model.losses(X).argmin() == 1


def test_choices_follow_the_probabilities() -> None:
    rng, probability = np.random.default_rng(0), np.array([0.1, 0.7, 0.2])
    belief = Belief(-np.log(probability), np.zeros(3), np.zeros(3))
    drawn = [int(ByProbability().estimate(belief, 60.0, rng).low.argmin()) for _ in range(4000)]
    assert np.bincount(drawn) / 4000 == pytest.approx(probability, abs=0.025)
    assert ByProbability().estimate(belief, 60.0, Still()).low.argmin() == 1


def test_names_of_features_and_actions_never_change() -> None:
    model = _model()
    model.remove(0)
    model.add()
    assert model.example(np.array([7.0, *X]))[0] == "shared |x f3:7 f2:0.5 f1:-2"
    assert model.example(X)[1:] == ["|a a1", "|a a2", "|a a3"]
