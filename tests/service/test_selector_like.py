"""A selector in memory, in a journal and behind HTTP have the same verbs with the same parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

from tailcut import Selector
from tailcut.explain import Explanation
from tailcut.journal import Journal, Project
from tailcut.policies.recorded_runs import Recorded
from tailcut.service import client as client_module
from tailcut.service.client import RemoteProject
from tailcut.types import SelectorLike
from tests.service.running import Running

VERBS = [name for name, value in vars(SelectorLike).items() if callable(value) and not name.startswith("_")]
KINDS: list[type] = [Selector, Project, RemoteProject]


def checked_by_mypy(selector: Selector, project: Project, remote: RemoteProject) -> list[SelectorLike]:
    """Hold only if each class has the protocol's methods with its types; mypy reads this."""
    first: SelectorLike = selector
    second: SelectorLike = project
    third: SelectorLike = remote
    return [first, second, third]


def parameters(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return kind and type of each parameter; those that come as a `TypedDict` are keywords too."""
    found, types = (
        dict[str, tuple[Any, Any]](),
        get_type_hints(function, localns={"Explanation": Explanation, "Recorded": Recorded}),
    )
    for one in inspect.signature(function).parameters.values():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            (options,) = get_args(types[one.name])
            keywords = get_type_hints(options).items()
            found |= {name: (inspect.Parameter.KEYWORD_ONLY, kind) for name, kind in keywords}
        else:
            found[one.name] = one.kind, types.get(one.name)
    return found


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    every = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in every if one.kind is not inspect.Parameter.VAR_KEYWORD}


def test_the_protocol_has_all_verbs() -> None:
    assert {"select", "observe", "proceed", "fit", "feature_budget", "consider", "explain"} <= set(VERBS)
    assert {"add_algorithm", "remove_algorithm"} <= set(VERBS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("verb", VERBS)
def test_parameters_are_the_same(kind: type, verb: str) -> None:
    like, own = getattr(SelectorLike, verb), getattr(kind, verb)
    wanted, found = parameters(like), parameters(own)
    assert {name: found.get(name) for name in wanted} == wanted
    further = {name: found[name] for name in found if name not in wanted}
    assert all(place is inspect.Parameter.KEYWORD_ONLY for place, _ in further.values()), further
    given, mine = defaults(like), defaults(own)
    assert {name: mine[name] for name in given} == given
    assert all(mine[name] is None for name in further), further


def recorded(instances: int = 30) -> Any:
    rng = np.random.default_rng(1)
    features, runtimes = rng.normal(size=(instances, 2)), rng.exponential(40.0, size=(instances, 2))
    features[0, 0], runtimes[0, 0], runtimes[1, 1] = math.nan, math.nan, math.inf
    solved = runtimes < 60.0
    return SimpleNamespace(
        algorithms=("b", "a"), cutoff=60.0, features=features, runtimes=runtimes, solved=solved
    )


def stream(one: SelectorLike, scenario: Any) -> list[Any]:
    """Use every verb; return all that came out."""
    seen: list[Any] = [one.feature_budget(), one.feature_budget(cutoff=10.0)]
    seen.append(one.fit(scenario, known=np.ones((len(scenario.features), 2), dtype=bool)))
    seen.append(one.consider([0.5, math.nan], cutoff=30.0, among=["a"], top=1).to_dict())
    for number in range(6):
        decision = one.select([0.1 * number, 1.0], instance=f"i{number}", spent=1.0, feature_cost=0.5)
        seen += [decision.to_dict(), one.explain(decision).to_dict()]
        seen.append(one.observe(decision, runtime=2.0) if number % 2 else one.observe(decision, failed=True))
        following = one.proceed(decision)
        seen.append(None if following is None else following.to_dict())
    one.add_algorithm("c")
    racing = one.race([0.2, 1.0], k=2, instance="race", feature_cost=0.5)
    seen += [decision.to_dict() for decision in racing]
    assert len({decision.algorithm for decision in racing}) == 2
    seen.append(one.observe(racing[0], failed=True))
    first, second = (decision.algorithm for decision in racing)
    seen += [
        decision.to_dict()
        for decision in one.race(
            [0.2, 1.0], k=2, instance="race", spent=4.0, running={second: 4.0}, failed={first: 4.0}
        )
    ]
    seen.append(one.observe(racing[1], censored_at=9.0))
    one.remove_algorithm("a")
    seen.append(one.select([0.0, 1.0], instance="last").to_dict())
    return seen


@pytest.mark.parametrize("selector", ["thompson_rev", "tailcut", "tailcut_schedule"])
def test_they_do_the_same(running: Running, tmp_path: Path, selector: str) -> None:
    settings: dict[str, Any] = {"selector": selector, "algorithms": ["a", "b"], "cutoff": 60.0, "seed": 3}
    local = stream(Selector(**settings), recorded())
    with Journal(tmp_path / "other.db") as journal:
        project = Project.create(journal, "p", settings)
        assert stream(project, recorded()) == local
        project.verify()
    with running.client() as client:
        assert stream(client.create_project("p", **settings), recorded()) == local


def test_many_runs_are_sent_in_pieces(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIT_INSTANCES", 7)
    settings: dict[str, Any] = {"selector": "thompson_rev", "algorithms": ["a", "b"], "cutoff": 60.0}
    with running.client() as client:
        remote = client.create_project("p", **settings)
        count = remote.fit(recorded(), key="k")
        assert count == Selector(**settings).fit(recorded()) == 59
        assert remote.fit(recorded(), key="k") == count  # sent again: nothing is learned twice
        events = list(remote.history(kind=["fit"], order="oldest"))
        assert [event["key"] for event in events] == ["k-0", "k-1", "k-2", "k-3", "k-4"]
        assert remote.info()["decisions"] == 0
