"""For people who write selectors: the conformance suite, what must hold for each, whatever it is made of.

A check takes a `Factory`, which makes fresh selectors of one kind, and raises AssertionError where the
selector breaks a promise of `tailcut.Selector`. The package's own tests cross all checks with the rows of the
catalogue; a selector of your own is checked the same way.

>>> from tailcut.testing import CHECKS, factory
>>> for check in CHECKS:
...     check(factory("thompson"))
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tailcut import errors
from tailcut.catalogue import recipe
from tailcut.errors import InputError
from tailcut.explain import AlgorithmBelief
from tailcut.policies.recipes import Row
from tailcut.scenarios.synthetic import SyntheticScenario, generate
from tailcut.selector import Selector
from tailcut.types import Decision, Outcome, Request

__all__ = ["CHECKS", "Factory", "factory"]

_MOST = 1000
"""More runs than any sensible schedule starts on one instance."""


@dataclass(frozen=True)
class Factory:
    """Makes fresh selectors of one kind."""

    recipe: Row
    hyperparameters: dict[str, Any] = field(default_factory=dict)

    def __call__(self, scenario: SyntheticScenario, **options: Any) -> Selector:
        """Return a new selector for the algorithms and the cutoff of `scenario`."""
        settings: dict[str, Any] = {"cutoff": scenario.cutoff, **self.hyperparameters, **options}
        return Selector(self.recipe, scenario.algorithms, **settings)

    def begin(self) -> tuple[SyntheticScenario, Selector]:
        """Return a small scenario and a new selector for it."""
        scenario = small_scenario()
        return scenario, self(scenario)


def factory(selector: str | Row, **hyperparameters: Any) -> Factory:
    """Return the factory of a selector, by name or by recipe."""
    return Factory(recipe(selector) if isinstance(selector, str) else selector, hyperparameters)


def small_scenario(n_instances: int = 60, n_algorithms: int = 4) -> SyntheticScenario:
    """Return made-up instances of five features, two in five runs beyond the cutoff."""
    return generate(n_instances=n_instances, n_algorithms=n_algorithms, n_features=5, timeouts=0.4, seed=7)


def outcome_of(scenario: SyntheticScenario, row: int, decision: Decision) -> Outcome:
    """Return how the run went, from scratch and for at most its budget; every eleventh instance fails."""
    algorithm = scenario.algorithms.index(decision.algorithm)
    if row % 11 == 10:
        return Outcome.failed()
    runtime = float(scenario.runtimes[row, algorithm])
    if scenario.solved[row, algorithm] and runtime <= decision.budget:
        return Outcome.solved(runtime)
    return Outcome.censored(decision.budget)


def learned(selector: Selector) -> bytes:
    """Return all that a selector has learned, for comparison; nothing where it keeps that to itself."""
    return selector.to_bytes() if selector.can_be_saved else b""


def unsolved(decision: Decision) -> Outcome:
    """Return the outcome of a run that ended unsolved when its budget was used up."""
    return Outcome.censored(decision.budget)


def finish(
    selector: Selector, first: Decision | None, outcome: Callable[[Decision], Outcome]
) -> Iterator[Decision]:
    """Yield the runs on an instance until it is over, each before its outcome is observed."""
    decision = first
    while decision is not None:
        _assert_finite(decision)
        yield decision
        selector.observe(decision, outcome(decision))
        decision = selector.proceed(decision)


def serve(selector: Selector, scenario: SyntheticScenario, rows: range) -> Iterator[Decision]:
    """Serve instances one after the other, each until it is over, every run observed at once."""
    for row in rows:
        first = selector.select(scenario.features[row], instance=f"i{row}")
        yield from finish(selector, first, partial(outcome_of, scenario, row))


def refused(selector: Selector, expected: type[errors.TailcutError], call: Callable[[], object]) -> str:
    """Return the message of the error that a call raises, having changed nothing."""
    before = learned(selector)
    try:
        call()
    except expected as error:
        assert learned(selector) == before, "a refused call changed the selector"
        return str(error)
    raise AssertionError(f"expected {expected.__name__}, and the call was accepted")


def continue_alike(
    original: Selector, waiting: Iterable[Decision], serve: Callable[[Selector], Iterable[Decision]]
) -> None:
    """Check that a restored selector continues like the original, with the outcomes of what waits."""
    restored = Selector.from_bytes(original.to_bytes())
    for decision in waiting:
        for selector in (original, restored):
            selector.observe(decision, unsolved(decision))
    assert list(serve(original)) == list(serve(restored)), "a restored selector decided differently"
    assert original.to_bytes() == restored.to_bytes(), "a restored selector learned differently"


def same_seed_same_choices(make: Factory) -> None:
    """Two selectors of the same seed decide alike on the same stream, scores included."""
    scenario = small_scenario()
    runs = [list(serve(make(scenario, seed=3), scenario, range(60))) for _ in range(2)]
    assert runs[0] == runs[1], "the same seed gave different decisions"


def save_and_load_continue(make: Factory) -> None:
    """Restored from its bytes, a selector continues exactly as before; one that cannot be saved says so."""
    scenario, original = make.begin()
    if not make.recipe.can_be_saved:
        original.observe(original.select(scenario.features[0]), runtime=1.0)
        message = refused(original, errors.StateFileError, original.to_bytes)
        assert "cannot be saved" in message, f"its row says that it cannot be saved, and it says {message!r}"
        return
    list(serve(original, scenario, range(30)))
    waiting = original.select(scenario.features[30], instance="waiting")
    continue_alike(original, [waiting], partial(serve, scenario=scenario, rows=range(31, 60)))


def feedback_in_any_order(make: Factory) -> None:
    """Outcomes may come late, in another order, or never."""
    scenario, selector = make.begin()
    decisions = [selector.select(scenario.features[row], instance=str(row)) for row in range(30)]
    for row in (*range(29, 14, -1), *range(0, 14, 2)):
        assert selector.observe(decisions[row].id, outcome_of(scenario, row, decisions[row]))
    assert len(selector.pending) == 8
    for row in (2, 28, 0):
        selector.proceed(decisions[row])
    list(serve(selector, scenario, range(30, 60)))


def observed_once(make: Factory) -> None:
    """Seen again, an outcome changes nothing; a different one is an error and changes nothing."""
    scenario, selector = make.begin()
    decision = selector.select(scenario.features[0])
    assert selector.observe(decision, runtime=1.0)
    before = learned(selector)
    assert not selector.observe(decision, runtime=1.0)
    assert learned(selector) == before, "a repeated outcome changed the selector"
    refused(selector, errors.ConflictingOutcomeError, lambda: selector.observe(decision, censored_at=1.0))


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
    assert max(sizes) - min(sizes) < 1000 + 0.1 * min(sizes), f"the state grows with the stream: {sizes}"


def only_offered_are_chosen(make: Factory) -> None:
    """Every single choice respects the subset offered, and only its scores are shown."""
    scenario, selector = make.begin()
    for row in range(60):
        offered = {scenario.algorithms[row % 4], scenario.algorithms[(row // 4 + 1) % 4]}
        first = selector.select(scenario.features[row], among=offered)
        for decision in finish(selector, first, partial(outcome_of, scenario, row)):
            assert decision.algorithm in offered, f"{decision.algorithm} was chosen among {offered}"
            assert set(decision.scores) == offered
            if outcome_of(scenario, row, decision).time is None:  # it failed, and is not offered again
                offered.discard(decision.algorithm)


def scores_are_finite(make: Factory) -> None:
    """Awkward features, cutoffs and outcomes give finite scores and a valid choice."""
    scenario = small_scenario()
    d, plain = scenario.features.shape[1], scenario.features[:10]
    odd = [np.full(d, value) for value in (np.nan, 0.0, 1.0, 1e300, -1.7e308, 5e-324)]
    odd.append(np.array([1e300, -1e300, np.nan, 0.0, 1e-300]))
    for cutoff in (1e-3, 1.0, 1e8):
        selector = make(scenario, cutoff=cutoff)
        awkward = [Outcome.solved(0.0), Outcome.censored(cutoff), Outcome.failed()]
        awkward += [Outcome.solved(cutoff), Outcome.censored(cutoff * 1e-6)]
        for step, features in enumerate([*odd, *plain, *odd, *plain, *odd]):
            decision: Decision | None = selector.select(features)
            for stage in range(5):
                if decision is None:
                    break
                _assert_finite(decision)
                assert decision.algorithm in scenario.algorithms
                assert 0.0 < decision.budget <= cutoff
                selector.observe(decision, awkward[(step + stage) % 5])
                decision = selector.proceed(decision)


def _assert_finite(decision: Decision) -> None:
    assert all(map(math.isfinite, decision.scores.values())), f"scores {decision.scores}"


def algorithms_come_and_go(make: Factory) -> None:
    """Algorithms can be added and removed while the selector runs; late outcomes of both are taken."""
    scenario, selector = make.begin()
    list(serve(selector, scenario, range(20)))
    gone = scenario.algorithms[1]
    late = selector.select(scenario.features[20], among=[gone])
    selector.remove_algorithm(gone)
    assert selector.observe(late, censored_at=scenario.cutoff)
    selector.add_algorithm("newcomer")
    seen: set[str] = set()
    for row in range(21, 60):
        # Where everything is solved at once, there is no need to try others.
        seen |= {run.algorithm for run in finish(selector, selector.select(scenario.features[row]), unsolved)}
    assert gone not in seen, "a removed algorithm was chosen"
    assert "newcomer" in seen, "an added algorithm was never tried"


def one_algorithm(make: Factory) -> None:
    """With a single algorithm there is no choice, and no trouble."""
    scenario = small_scenario(n_algorithms=1)
    for decision in serve(make(scenario), scenario, range(20)):
        assert decision.algorithm == scenario.algorithms[0]


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


def budgets_fit_the_cutoff(make: Factory) -> None:
    """All runs on an instance together take at most what is left of its cutoff; stages are counted."""
    scenario, selector = make.begin()
    for row in range(40):
        spent = (row % 4) * 0.25 * scenario.cutoff
        first = selector.select(scenario.features[row], instance=str(row), spent=spent)
        stage = 0
        for decision in finish(selector, first, unsolved):
            assert decision.budget > 0.0, f"a run was given {decision.budget} s"
            assert (decision.instance, decision.cutoff) == (str(row), scenario.cutoff)
            assert (decision.stage, decision.spent) == (stage, spent), "stages or seconds are miscounted"
            stage, spent = stage + 1, min(scenario.cutoff, spent + decision.budget)
            assert decision.spent + decision.budget <= scenario.cutoff * (1 + 1e-9), (
                "budgets exceed the cutoff"
            )
            assert stage < _MOST, "the instance never ends"
        if not selector.schedules:
            assert (stage, spent) == (1, scenario.cutoff), "one pick gets all the time there is"


def solved_ends_it(make: Factory) -> None:
    """Once solved, an instance is over, however often one asks."""
    scenario, selector = make.begin()
    for row in range(20):
        decision = selector.select(scenario.features[row])
        selector.observe(decision, runtime=decision.budget / 2)
        assert selector.proceed(decision) is None, "a solved instance was continued"
        assert selector.proceed(decision.id) is None


def save_and_load_within_an_instance(make: Factory) -> None:
    """Restored between two runs on an instance, or during one, a selector continues exactly as before."""
    scenario, original = make.begin()
    if not original.can_be_saved:
        return
    list(serve(original, scenario, range(30)))
    decision: Decision | None = original.select(scenario.features[30], among=scenario.algorithms[1:])
    while decision is not None:
        restored = Selector.from_bytes(original.to_bytes())
        for selector in (original, restored):
            selector.observe(decision, censored_at=decision.budget)
        restored = Selector.from_bytes(restored.to_bytes())
        following = original.proceed(decision)
        assert restored.proceed(decision) == following, "a restored selector continued differently"
        assert original.to_bytes() == restored.to_bytes(), "a restored selector differs after continuing"
        original, decision = restored, following


def failed_is_not_offered_again(make: Factory) -> None:
    """Algorithms that failed on an instance are not run on it again, however much time is left."""
    scenario, selector = make.begin()
    for row in range(20):
        decision: Decision | None = selector.select(scenario.features[row])
        tried: set[str] = set()
        while decision is not None:
            assert decision.algorithm not in tried, f"{decision.algorithm} failed and was run again"
            assert not tried & set(decision.scores), "what failed was still weighed"
            tried.add(decision.algorithm)
            selector.observe(decision, failed=True)
            decision = selector.proceed(decision, spent=0.001 * len(tried) * scenario.cutoff)


def algorithms_change_within_an_instance(make: Factory) -> None:
    """Algorithms may come and go between two runs on an instance."""
    scenario, selector = make.begin()
    for row in range(20):
        first = selector.select(scenario.features[row])
        selector.observe(first, censored_at=first.budget / 2)
        gone, new = selector.algorithms[row % 4], f"new{row}"
        selector.remove_algorithm(gone)
        selector.add_algorithm(new)
        for decision in finish(selector, selector.proceed(first), unsolved):
            assert decision.algorithm in selector.algorithms
            assert set(decision.scores) <= set(selector.algorithms)
    chosen = selector.select(scenario.features[0], among=[selector.algorithms[0]])
    selector.remove_algorithm(chosen.algorithm)
    selector.observe(chosen, censored_at=chosen.budget / 2)
    assert selector.proceed(chosen) is None, "continued with an algorithm that was not offered"


def out_of_turn_is_refused(make: Factory) -> None:
    """Without the outcome, twice, or from a decision never made, `proceed` raises and changes nothing."""
    scenario, selector = make.begin()
    first = selector.select(scenario.features[0])
    refused(selector, errors.OutOfTurnError, lambda: selector.proceed(first))
    refused(selector, errors.UnknownDecisionError, lambda: selector.proceed(99))
    selector.observe(first, censored_at=first.budget / 2)
    if selector.proceed(first) is not None:
        refused(selector, errors.OutOfTurnError, lambda: selector.proceed(first))
    else:
        assert selector.proceed(first) is None, "over, and then not"


def explains_itself(make: Factory) -> None:
    """Every decision has an explanation, in order and in strict JSON, and asking for it changes nothing."""
    scenario, selector = make.begin()
    for row in range(30):
        features = scenario.features[row].copy()
        features[row % 5] = np.nan
        decision: Decision | None = selector.select(features, among=scenario.algorithms[row % 2 :])
        while decision is not None:
            if row % 5 == 0:
                _check_explanation(selector, decision)
            selector.observe(decision, outcome_of(scenario, row, decision))
            if row % 5 == 0:
                assert decision.explain().outcomes_since == 1, "the outcome just learned is not reported"
            decision = selector.proceed(decision)


def _check_explanation(selector: Selector, decision: Decision) -> None:
    before = learned(selector)
    explanation = decision.explain()
    assert learned(selector) == before, "explaining changed the selector"
    assert explanation.outcomes_since == 0, "nothing was learned since the decision"
    assert (explanation.decision, explanation.algorithm) == (decision.id, decision.algorithm)
    assert {belief.name: belief.score for belief in explanation.algorithms} == dict(decision.scores)
    assert explanation.features == tuple(sorted(explanation.features, key=lambda one: -abs(one.effect)))
    for belief in explanation.algorithms:  # a forecast has all its numbers or none, and they make sense
        values = astuple(belief)[3:]
        median, low, high, timeout, loss = (float(value or 0.0) for value in values)
        assert set(values) == {None} or None not in values, f"an incomplete forecast: {belief}"
        assert all(map(math.isfinite, (timeout, loss))), f"{belief}"
        # A quantile may be infinite: where nothing was ever seen, nothing is known.
        assert 0.0 <= low <= median <= high, f"an interval out of order: {belief}"
        assert 0.0 <= timeout <= 1.0, f"no probability: {belief}"
        assert 0.0 <= loss <= explanation.penalty * explanation.cutoff * (1 + 1e-9), f"no PARk: {belief}"
    constants: list[str] = []
    json.loads(explanation.to_json(), parse_constant=constants.append)
    assert not constants, f"{constants} are not strict JSON"
    assert decision.algorithm in explanation.text()
    travelled = pickle.loads(pickle.dumps(decision))
    assert travelled == decision
    restored = Selector.from_bytes(selector.to_bytes()) if selector.can_be_saved else selector
    assert restored.explain(travelled) == explanation, "a restored selector explains differently"
    refused(selector, errors.NotExplainedError, travelled.explain)  # it has lost its selector


def asking_changes_nothing(make: Factory) -> None:
    """Say at any time how long features may take, and is the same afterwards."""
    scenario, selector = make.begin()
    _asked(selector, scenario.cutoff)
    for row in range(20):
        decision = selector.select(scenario.features[row])
        _asked(selector, scenario.cutoff)
        selector.observe(decision, outcome_of(scenario, row, decision))
        _asked(selector, scenario.cutoff)


def _asked(selector: Selector, cutoff: float) -> None:
    before = learned(selector)
    for limit in (cutoff, cutoff / 2):
        budget = selector.feature_budget(cutoff=limit)
        assert 0.0 <= budget <= limit, f"features may take {budget} s of {limit} s"
        if not selector.needs_features:
            assert budget == 0.0, "wants features it never looks at"
        elif not selector.may_skip_features:
            assert budget == limit, "wants to skip features, and cannot"
    assert learned(selector) == before, "asking for the budget changed the selector"


def none_is_refused_or_served(make: Factory) -> None:
    """Refuse None and stay the same, or take it, even first."""
    scenario, selector = make.begin()
    if selector.needs_features and not selector.may_skip_features:
        selector.select(scenario.features[0])
        refused(selector, InputError, lambda: selector.select(None))
        return
    for decision in _mixed(selector, scenario, range(60)):
        assert decision.algorithm in scenario.algorithms


def absent_features_are_saved(make: Factory) -> None:
    """Continue, restored, exactly as before, with instances of both kinds waiting."""
    scenario, original = make.begin()
    if original.needs_features and not original.may_skip_features:
        return
    for last in (1, 2, 30):  # before there were any features, at the first of them, and later
        _mixed(original, scenario, range(last))
        waiting = [original.select(None), original.select(scenario.features[last]), original.select(None)]
        continue_alike(original, waiting, partial(_mixed, scenario=scenario, rows=range(last + 1, last + 20)))


def free_features_are_wanted(make: Factory) -> None:
    """Want features that cost nothing, and saying so changes nothing."""
    scenario = small_scenario()
    plain, charged = make(scenario), make(scenario)
    expected = list(serve(plain, scenario, range(60)))
    taken: list[Decision] = []
    for row in range(60):
        assert (charged.feature_budget() > 0.0) == charged.needs_features
        first = charged.select(scenario.features[row], instance=f"i{row}", feature_cost=0.0)
        taken += finish(charged, first, partial(outcome_of, scenario, row))
    assert taken == expected, "decided differently"


def late_features_lose_nothing(make: Factory) -> None:
    """Check that what was learned without features is still known when the first features arrive."""
    scenario, selector = make.begin()
    if selector.needs_features and not selector.may_skip_features:
        return
    for row in range(20):
        list(finish(selector, selector.select(None), partial(outcome_of, scenario, row)))
    before = selector.consider(None)
    waiting = selector.select(scenario.features[20])
    after = selector.consider(None)
    for one, other in zip(before.algorithms, after.algorithms, strict=True):
        assert _rounded(one) == _rounded(other), f"forgotten: {one} became {other}"
        if one.runs is not None and other.runs is not None:
            assert other.runs >= one.runs, f"{one.name} ran {one.runs} times before, {other.runs} now"
    continue_alike(selector, [waiting], partial(serve, scenario=scenario, rows=range(21, 50)))


def first_features_may_be_asked_about(make: Factory) -> None:
    """Before any instance had features, say of one that has what would be chosen, and race on it."""
    scenario, selector = make.begin()
    if selector.needs_features and not selector.may_skip_features:
        return
    selector.observe(selector.select(None), censored_at=scenario.cutoff)
    before = learned(selector)
    selector.consider(scenario.features[0])
    selector.joining(Request(scenario.features[0]), {scenario.algorithms[0]: 1.0})
    assert learned(selector) == before, "asking settled the features"
    raced = selector.race(scenario.features[0], k=2)
    assert len({decision.algorithm for decision in raced}) == 2
    for decision in raced:
        decision.explain()


def refused_runs_change_nothing(make: Factory) -> None:
    """Refuse recorded runs of the wrong measure before the number of features is settled."""
    scenario, selector = make.begin()
    runs = SimpleNamespace(**{name: getattr(scenario, name) for name in (*_RECORDED, "cutoff")})
    if not selector.takes_losses:
        runs.ratings = np.zeros(scenario.runtimes.shape)
    elif selector.may_skip_features or not selector.needs_features:
        selector.observe(selector.select(None), loss=0.5)
    else:
        return
    refused(selector, InputError, lambda: selector.fit(runs))
    assert selector.n_features is None or selector.decisions, "refused runs settled the number of features"


_RECORDED = ("algorithms", "features", "runtimes", "solved")


def _rounded(belief: AlgorithmBelief) -> list[str]:
    return ["" if number is None else f"{number:.6g}" for number in astuple(belief)[3:]]


def _mixed(selector: Selector, scenario: SyntheticScenario, rows: range) -> list[Decision]:
    """Serve instances of which some have features, some were given up on, and some have none."""
    taken = []
    for row in rows:
        given = scenario.features[row] if row % 3 == 1 else None
        cost = 0.02 * scenario.cutoff if row % 3 else 0.0
        first = selector.select(given, instance=f"i{row}", feature_cost=cost)
        assert first.spent == cost, "what features cost is not counted"
        for decision in finish(selector, first, partial(outcome_of, scenario, row)):
            taken.append(decision)
            decision.explain()
    return taken


CHECKS: list[Callable[[Factory], None]] = [
    defined
    for defined in list(globals().values())
    if [*getattr(defined, "__annotations__", ())] == ["make", "return"]
]
"""Every check: the functions here that take a factory alone, in the order of reading."""
