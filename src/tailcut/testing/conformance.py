"""The conformance suite: what must hold for every selector, whatever it is made of.

A check takes a `Factory`, which makes fresh selectors of one kind, and raises AssertionError where the
selector breaks a promise of `tailcut.Selector`. The package's own tests cross all checks with all rows
of the catalogue; a selector of your own is checked the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tailcut.errors import ConflictingOutcomeError, StateFileError
from tailcut.scenarios.synthetic import SyntheticScenario
from tailcut.selector import Selector
from tailcut.testing.absent_features import FEATURE_BUDGET
from tailcut.testing.explaining import EXPLAINING
from tailcut.testing.proceeding import PROCEEDING
from tailcut.testing.small_stream import Factory, learned, outcome_of, serve, small_scenario
from tailcut.types import Array, Decision, Outcome


def same_seed_same_choices(make: Factory) -> None:
    """Two selectors of the same seed decide alike on the same stream, scores included."""
    scenario = small_scenario()
    runs = [list(serve(make(scenario, seed=3), scenario, range(60))) for _ in range(2)]
    assert runs[0] == runs[1], "the same seed gave different decisions"


def save_and_load_continue(make: Factory) -> None:
    """Restored from its bytes, a selector continues exactly as before; one that cannot be saved says so."""
    scenario = small_scenario()
    original = make(scenario)
    if not make.recipe.can_be_saved:
        _refuses_to_be_saved(original, scenario)
        return
    for _ in serve(original, scenario, range(30)):
        pass
    waiting = original.select(scenario.features[30], instance="waiting")
    restored = Selector.from_bytes(original.to_bytes())
    for selector in (original, restored):
        selector.observe(waiting, censored_at=scenario.cutoff)
    continued = [list(serve(selector, scenario, range(31, 60))) for selector in (original, restored)]
    assert continued[0] == continued[1], "a restored selector decided differently"
    assert original.to_bytes() == restored.to_bytes(), "a restored selector learned differently"


def _refuses_to_be_saved(selector: Selector, scenario: SyntheticScenario) -> None:
    selector.observe(selector.select(scenario.features[0]), runtime=1.0)
    said = ""
    try:
        selector.to_bytes()
    except StateFileError as error:
        said = str(error)
    assert "cannot be saved" in said, f"its row says that it cannot be saved, and saving it said {said!r}"


def feedback_in_any_order(make: Factory) -> None:
    """Outcomes may come late, in another order, or never."""
    scenario = small_scenario()
    selector = make(scenario)
    decisions = [selector.select(scenario.features[row], instance=str(row)) for row in range(30)]
    for row in (*range(29, 14, -1), *range(0, 14, 2)):
        assert selector.observe(decisions[row].id, outcome_of(scenario, row, decisions[row]))
    assert len(selector.pending) == 8
    for row in (2, 28, 0):
        selector.proceed(decisions[row])
    for decision in serve(selector, scenario, range(30, 60)):
        _assert_finite(decision)


def observed_once(make: Factory) -> None:
    """Seen again, an outcome changes nothing; a different one is an error and changes nothing."""
    scenario = small_scenario()
    selector = make(scenario)
    decision = selector.select(scenario.features[0])
    assert selector.observe(decision, runtime=1.0)
    before = learned(selector)
    assert not selector.observe(decision, runtime=1.0)
    try:
        selector.observe(decision, censored_at=1.0)
    except ConflictingOutcomeError:
        pass
    else:
        raise AssertionError("a second, different outcome was accepted")
    after = learned(selector)
    assert after == before, "a repeated outcome changed the selector"


def bounded_memory(make: Factory) -> None:
    """However long the stream, the state does not grow, unless the recipe says that it does."""
    if not make.recipe.bounded or not make.recipe.can_be_saved:
        return
    scenario = small_scenario(n_instances=300)
    # A memory of bounded size takes its time to fill: a small one is full before the first look.
    sample = {"memory": 100} if "memory" in make.recipe.hyperparameters else {}
    selector = make(scenario, max_pending=20, **sample)
    sizes = []
    for _ in range(5):
        for row, _ in enumerate(serve(selector, scenario, range(300))):
            if row % 3 == 0:
                selector.select(scenario.features[row % 300])  # its outcome never arrives
        for row in range(20):
            abandoned = selector.select(scenario.features[row])  # unsolved, and never gone on with
            selector.observe(abandoned, censored_at=abandoned.budget)
        sizes.append(len(selector.to_bytes()))
    # Numbers written in decimal may gain a few digits, and trees come out larger or smaller. Eight bytes for
    # each instance, the least that can be remembered of one, would be more than this.
    assert max(sizes) - min(sizes) < 1000 + 0.1 * min(sizes), (
        f"the state grows with the stream: {sizes} bytes"
    )


def only_offered_are_chosen(make: Factory) -> None:
    """Every single choice respects the subset offered, and only its scores are shown."""
    scenario = small_scenario()
    selector = make(scenario)
    for row in range(60):
        offered = {scenario.algorithms[row % 4], scenario.algorithms[(row // 4 + 1) % 4]}
        decision: Decision | None = selector.select(scenario.features[row], among=offered)
        while decision is not None:
            assert decision.algorithm in offered, f"{decision.algorithm} was chosen among {offered}"
            assert set(decision.scores) == offered
            outcome = outcome_of(scenario, row, decision)
            selector.observe(decision, outcome)
            if outcome.time is None:  # it failed, and is not offered again
                offered.discard(decision.algorithm)
            decision = selector.proceed(decision)


def scores_are_finite(make: Factory) -> None:
    """Awkward features, cutoffs and outcomes give finite scores and a valid choice."""
    scenario = small_scenario()
    for cutoff in (1e-3, 1.0, 1e8):
        selector = make(scenario, cutoff=cutoff)
        for step, features in enumerate(_awkward_features(scenario)):
            decision: Decision | None = selector.select(features)
            for stage in range(5):
                if decision is None:
                    break
                _assert_finite(decision)
                assert decision.algorithm in scenario.algorithms
                assert 0.0 < decision.budget <= cutoff
                selector.observe(decision, _awkward_outcome(step + stage, cutoff))
                decision = selector.proceed(decision)


def _awkward_features(scenario: SyntheticScenario) -> list[Array]:
    """Return missing, zero, constant, huge, tiny and repeated feature vectors between plain ones."""
    d = scenario.features.shape[1]
    odd = [
        np.full(d, np.nan),
        np.zeros(d),
        np.ones(d),
        np.full(d, 1e300),
        np.full(d, -1.7e308),
        np.full(d, 5e-324),
        np.array([1e300, -1e300, np.nan, 0.0, 1e-300]),
    ]
    return [*odd, *scenario.features[:10], *odd, *scenario.features[:10], *odd]


def _awkward_outcome(step: int, cutoff: float) -> Outcome:
    return [
        Outcome.solved(0.0),
        Outcome.censored(cutoff),
        Outcome.failed(),
        Outcome.solved(cutoff),
        Outcome.censored(cutoff * 1e-6),
    ][step % 5]


def _assert_finite(decision: Decision) -> None:
    assert all(math.isfinite(score) for score in decision.scores.values()), f"scores {decision.scores}"


def algorithms_come_and_go(make: Factory) -> None:
    """Algorithms can be added and removed while the selector runs; late outcomes of both are taken."""
    scenario = small_scenario()
    selector = make(scenario)
    for _ in serve(selector, scenario, range(20)):
        pass
    gone = scenario.algorithms[1]
    late = selector.select(scenario.features[20], among=[gone])
    selector.remove_algorithm(gone)
    assert selector.observe(late, censored_at=scenario.cutoff)
    selector.add_algorithm("newcomer")
    seen = set()
    for row in range(21, 60):
        decision: Decision | None = selector.select(scenario.features[row])
        while decision is not None:
            _assert_finite(decision)
            seen.add(decision.algorithm)
            # Where everything is solved at once, there is no need to try others.
            selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
    assert gone not in seen, "a removed algorithm was chosen"
    assert "newcomer" in seen, "an added algorithm was never tried"


def one_algorithm(make: Factory) -> None:
    """With a single algorithm there is no choice, and no trouble."""
    scenario = small_scenario(n_algorithms=1)
    for decision in serve(make(scenario), scenario, range(20)):
        assert decision.algorithm == scenario.algorithms[0]
        _assert_finite(decision)


def warm_start_saves_first_runs(make: Factory) -> None:
    """Algorithms with recorded runs get no first run, others do; all else stays as it was."""
    scenario = small_scenario()
    known = np.ones((60, 4), dtype=np.bool_)
    known[:, 2] = known[30:] = False  # nothing of the third algorithm, nothing of the later instances
    selectors = [make(scenario) for _ in range(2)]
    for selector in selectors:
        waiting = selector.select(scenario.features[30], instance="waiting")
        before = selector.pending
        assert selector.fit(scenario, known=known) == 90
        assert selector.pending == before, "a warm start touched decisions that wait"
        assert selector.observe(waiting, censored_at=waiting.budget)
    if make.recipe.can_be_saved:
        selectors.append(Selector.from_bytes(selectors[0].to_bytes()))
    taken = [list(serve(selector, scenario, range(31, 60))) for selector in selectors]
    assert taken[0] == taken[1], "the same recorded runs gave different decisions"
    assert taken[0] == taken[-1], "restored after a warm start, a selector decided differently"
    first = {decision.algorithm for decision in taken[0] if decision.reason == "first run"}
    assert first <= {scenario.algorithms[2]}, f"first runs of {first}, of which runs were known"
    for decision in taken[0]:
        _assert_finite(decision)


CHECKS: list[Callable[[Factory], None]] = [
    same_seed_same_choices,
    save_and_load_continue,
    feedback_in_any_order,
    observed_once,
    bounded_memory,
    only_offered_are_chosen,
    scores_are_finite,
    algorithms_come_and_go,
    one_algorithm,
    warm_start_saves_first_runs,
    *PROCEEDING,
    *EXPLAINING,
    *FEATURE_BUDGET,
]
"""Every check, in the order of reading."""
