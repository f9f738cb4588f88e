"""State files that were damaged and sealed again: a clear error, or a selector that works; never a hang."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.errors import StateFileError, TailcutError
from tailcut.scenarios.synthetic import generate
from tailcut.state import pack, unpack
from tailcut.testing import outcome_of
from tailcut.types import Decision

ROWS: dict[str, dict[str, Any]] = {
    "thompson": {},
    "bounded_thompson": {"window": 20},
    "degroote_epsilon_greedy_lr": {},
    "tailcut": {"trees": 4, "memory": 30},
    "tailcut-window": {"trees": 4, "window": 20},
    "epsilon_greedy": {"window": 15},
    "tailcut_schedule": {},
    "round_robin": {},
}
SCENARIO = generate(n_instances=60, n_algorithms=3, n_features=4, seed=1)


def _state(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    selector = Selector(name.partition("-")[0], SCENARIO.algorithms, SCENARIO.cutoff, **settings)
    for row in range(40):
        skipped = selector.may_skip_features and row % 7 == 0
        decision: Decision | None = selector.select(None if skipped else SCENARIO.features[row])
        while decision is not None:
            selector.observe(decision, outcome_of(SCENARIO, row, decision))
            decision = selector.proceed(decision)
    for row in range(40, 43):
        selector.select(SCENARIO.features[row])
    return unpack(selector.to_bytes())


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in a state."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for position in range(min(len(value), 4)):
            yield from _places(value[position], (*path, position))


def _mutated(state: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """Return a state of which one thing was changed, and what."""
    changed = copy.deepcopy(state)
    places = list(_places(changed))
    *way, last = places[int(rng.integers(len(places)))]
    holder = changed
    for key in way:
        holder = holder[key]
    before = holder[last]
    holder[last] = _other(before, rng)
    if rng.random() < 0.15:
        del holder[last]
    return changed, f"{'.'.join(map(str, [*way, last]))}: {before!r:.60} became {holder and 'other'}"


def _other(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < 0.8:
        return _other_array(value, rng)
    others: list[Any] = [
        None,
        "x",
        -1,
        2**62,
        1e308,
        -0.5,
        [],
        {},
        [None],
        True,
        np.zeros(3),
        np.full((2, 2), np.nan),
    ]
    return others[int(rng.integers(len(others)))]


def _other_array(value: Any, rng: np.random.Generator) -> Any:
    kind = int(rng.integers(5))
    if kind == 0 or not value.size:
        return np.concatenate([value, value]) if value.ndim else value
    if kind == 1:
        return value[:-1]
    if kind == 2:
        with np.errstate(invalid="ignore"):
            return value.astype(np.int64 if value.dtype == np.float64 else np.float64)
    changed = value.copy()
    extreme = [np.nan, np.inf, -1e300, 1e300] if value.dtype == np.float64 else [-1, 2**31 - 1, 10**6]
    where = rng.integers(changed.size)
    changed.flat[where] = extreme[int(rng.integers(len(extreme)))]
    return changed


@pytest.mark.parametrize("name", ROWS)
def test_a_damaged_state_is_refused_or_works(name: str) -> None:
    """110 damaged states for each of eight selectors."""
    state = _state(name, ROWS[name])
    assert Selector.from_bytes(pack(state)).to_bytes() == pack(state)
    rng = np.random.default_rng(len(name))
    refused = 0
    for _ in range(110):
        changed, what = _mutated(state, rng)
        try:
            data = pack(changed)
        except (TypeError, ValueError, OverflowError, StateFileError):
            continue  # not even a state
        try:
            selector = Selector.from_bytes(data)
        except StateFileError:
            refused += 1
            continue
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        try:
            _use(selector)
        except TailcutError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{what}: loaded, and then {error!r}") from error
    assert refused > 30


def _use(selector: Selector) -> None:
    for row in range(43, 46):
        width = selector.n_features
        features = SCENARIO.features[row] if width is None else np.resize(SCENARIO.features[row], width)
        decision: Decision | None = selector.select(features)
        stages = 0
        while decision is not None and stages < 50:
            selector.observe(decision, censored_at=decision.budget)
            decision = selector.proceed(decision)
            stages += 1
        assert stages < 50, "it never ends"
