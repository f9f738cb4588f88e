"""The memory of instances: what is put together, what is kept, and that nothing is lost by saving it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailcut import state as statefile
from tailcut.errors import StateFileError
from tailcut.models.instance_memory import InstanceMemory

NAN = np.nan


def _memory(size: int = 10, **options: Any) -> InstanceMemory:
    return InstanceMemory(**{"size": size, "n_features": 1, "n_algorithms": 3, "seed": 0, **options})


def _put(memory: InstanceMemory, *runs: tuple[float, int, float]) -> None:
    for x, algorithm, target in runs:
        memory.put(np.array([x]), algorithm, target)


def _rows(memory: InstanceMemory) -> dict[float, list[float]]:
    table = memory.table()
    return dict(zip(table.x[:, 0].tolist(), np.nan_to_num(table.target, nan=-1.0).tolist(), strict=True))


def _stir(memory: InstanceMemory, seed: int, runs: int = 200) -> None:
    """Put runs on few instances, so that many of them meet."""
    rng = np.random.default_rng(seed)
    width, n_algorithms = memory.table().x.shape[1], memory.table().target.shape[1]
    for _ in range(runs):
        x = np.full(width, float(rng.integers(25)))
        memory.put(x, int(rng.integers(n_algorithms)), float(rng.random()))


def test_runs_on_the_same_features_are_put_together() -> None:
    memory = _memory()
    _put(memory, (1.0, 0, 0.1), (2.0, 0, 0.2), (1.0, 2, 0.3))
    assert _rows(memory) == {1.0: [0.1, -1.0, 0.3], 2.0: [0.2, -1.0, -1.0]}
    assert (memory.kept, memory.seen, memory.runs) == (2, 2, 3)


def test_the_same_algorithm_again_gets_a_row_of_its_own() -> None:
    memory = _memory()
    _put(memory, (1.0, 0, 0.1), (1.0, 0, 0.2), (1.0, 1, 0.3))
    expected = [[0.1, NAN, NAN], [0.2, 0.3, NAN]]  # the latest row takes what comes
    np.testing.assert_array_equal(memory.table().target, expected)
    assert memory.table().joins.tolist() == [False, True]
    assert (memory.kept, memory.seen, memory.runs) == (2, 2, 3)


def test_an_instance_whose_row_was_taken_is_new_again() -> None:
    memory = _memory(size=1)
    _put(memory, (1.0, 0, 0.1))
    other = 2.0
    while 1.0 in _rows(memory):
        _put(memory, (other, 0, 0.2))
        other += 1.0
    seen = memory.seen
    _put(memory, (1.0, 1, 0.3))
    assert memory.seen == seen + 1


def test_the_sample_is_uniform_over_the_instances() -> None:
    """Of 300 instances in 30 rows, each third has 10, on average over many seeds."""
    thirds = np.zeros(3)
    for seed in range(200):
        memory = _memory(size=30, seed=seed, n_algorithms=1)
        for number in range(300):
            memory.put(np.array([float(number)]), 0, 0.5)
        thirds += np.bincount((memory.table().x[:, 0] // 100).astype(int), minlength=3)
    np.testing.assert_allclose(thirds / 200, 10.0, atol=0.7)  # four standard errors


def test_of_the_latest_every_run_has_a_row_and_the_oldest_goes() -> None:
    memory = _memory(size=3, latest=True)
    _put(memory, (1.0, 0, 0.1), (1.0, 1, 0.2), (2.0, 0, 0.3), (1.0, 2, 0.4))
    expected = [[NAN, NAN, 0.4], [NAN, 0.2, NAN], [0.3, NAN, NAN]]
    np.testing.assert_array_equal(memory.table().target, expected)
    assert (memory.oldest, memory.kept, memory.runs) == (1, 3, 4)
    memory.remove(0)  # oldest first again
    np.testing.assert_array_equal(memory.table().target, [[0.2, NAN], [NAN, 0.4]])
    _put(memory, (3.0, 0, 0.5), (4.0, 0, 0.6))
    np.testing.assert_array_equal(memory.table().x[:, 0], [4.0, 1.0, 3.0])


def test_room_is_doubled_and_nothing_is_lost() -> None:
    memory = _memory(size=300)
    _put(memory, *((float(number), number % 3, number / 300) for number in range(300)))
    assert memory.table().x[:, 0].tolist() == [float(number) for number in range(300)]
    assert np.nanmax(memory.table().target, axis=1).tolist() == [number / 300 for number in range(300)]
    _put(memory, *((float(number), (number + 1) % 3, 0.5) for number in range(300)))
    assert (memory.kept, memory.runs) == (300, 600)


def test_an_algorithm_comes() -> None:
    memory = _memory()
    _put(memory, (1.0, 0, 0.1), (2.0, 1, 0.2))
    memory.add()
    _put(memory, (1.0, 3, 0.4), (3.0, 3, 0.5))
    assert _rows(memory) == {
        1.0: [0.1, -1.0, -1.0, 0.4],
        2.0: [-1.0, 0.2, -1.0, -1.0],
        3.0: [-1.0, -1.0, -1.0, 0.5],
    }


def test_an_algorithm_goes_and_with_it_the_instances_that_only_it_ran_on() -> None:
    memory = _memory()
    _put(memory, (1.0, 0, 0.1), (2.0, 1, 0.2), (1.0, 1, 0.3), (3.0, 2, 0.4))
    memory.remove(1)
    assert _rows(memory) == {1.0: [0.1, -1.0], 3.0: [-1.0, 0.4]}
    assert (memory.kept, memory.seen, memory.runs) == (2, 2, 2)
    _put(memory, (3.0, 0, 0.5))
    assert _rows(memory)[3.0] == [0.5, 0.4]
    memory.remove(0)
    memory.remove(0)
    assert (memory.kept, memory.seen, memory.runs) == (0, 0, 0)


def test_what_a_full_memory_stands_for_shrinks_with_it() -> None:
    memory = _memory(size=50, n_algorithms=2)
    _put(memory, *((float(number), number % 2, 0.5) for number in range(500)))
    memory.remove(0)
    assert memory.seen == 10 * memory.kept
    assert memory.runs == memory.kept


def test_features_of_runs_before_them_are_unknown() -> None:
    memory = _memory(n_features=0)
    for _ in range(2):
        memory.put(np.empty(0), 0, 0.5)
    memory.add_features(2)
    assert memory.table().x.shape == (2, 2)
    assert np.isnan(memory.table().x).all()
    memory.put(np.zeros(2), 1, 0.5)
    assert memory.kept == 3


@pytest.mark.parametrize("latest", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_restored_it_continues_bit_for_bit(seed: int, latest: bool) -> None:
    """Also where the latest row of some features is not the last one, as in a full memory."""
    memory, other = (_memory(size=15, seed=seed, latest=latest) for _ in range(2))
    _stir(memory, seed)
    other.restore(statefile.unpack(statefile.pack(memory.state())))
    for one in (memory, other):
        _stir(one, seed + 1)
        one.remove(1)
        one.add()
        _stir(one, seed + 2)
    assert statefile.pack(memory.state()) == statefile.pack(other.state())


def _damage(name: str, change: Any) -> Any:
    def damaged(state: dict[str, Any]) -> None:
        state["filled"][name] = change(state["filled"][name].copy())

    return damaged


def _with_first(value: float) -> Any:
    def changed(array: Any) -> Any:
        array.flat[0] = value
        return array

    return changed


@pytest.mark.parametrize(
    "damage",
    [
        _damage("x", lambda x: x[:-1]),
        _damage("x", lambda x: x[:, :0]),
        _damage("x", lambda x: x.astype(np.float32)),
        _damage("x", _with_first(np.inf)),
        _damage("x", _with_first(1e300)),
        _damage("x", lambda x: x.tolist()),
        _damage("x", np.zeros_like),
        _damage("target", lambda y: y[:, :2]),
        _damage("target", _with_first(-np.inf)),
        _damage("target", _with_first(1e300)),
        _damage("weight", _with_first(np.nan)),
        _damage("joins", lambda joins: joins.astype(np.float64)),
        lambda state: state["filled"].pop("weight"),
        lambda state: state["filled"].update(more=np.zeros(3)),
        lambda state: state.update(filled=[]),
        lambda state: state["filled"].update(
            {name: np.concatenate([values] * 2) for name, values in state["filled"].items()}
        ),
        lambda state: state.update(seen=3),
        lambda state: state.update(runs=-1),
        lambda state: state.update(oldest=15),
        lambda state: state.update(stream={}),
    ],
)
def test_a_damaged_state_is_refused(damage: Any) -> None:
    memory = _memory(size=15)
    _stir(memory, 0)
    state = statefile.unpack(statefile.pack(memory.state()))
    _memory(size=15).restore(state)
    damage(state)
    with pytest.raises(StateFileError):
        _memory(size=15).restore(state)
