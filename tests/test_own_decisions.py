"""Decisions belong to the selector that made them, and a selector to one thread at a time."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tailcut import Decision, Selector
from tailcut import state as statefile
from tailcut.errors import ConcurrentUseError, StateFileError, TailcutError, UnknownDecisionError
from tailcut.journal import Journal, Project

NAMES = ["a", "b"]


def made(name: str = "tailcut", seed: int = 0) -> Selector:
    return Selector(name, NAMES, 60.0, seed=seed)


def refuses(selector: Selector, decision: Decision) -> None:
    before = selector.to_bytes()
    for use in (
        lambda: selector.observe(decision, runtime=1.0),
        lambda: selector.proceed(decision),
        lambda: selector.explain(decision),
    ):
        with pytest.raises(UnknownDecisionError, match="not this selector's"):
            use()
    assert selector.to_bytes() == before


@pytest.mark.parametrize("name", ["tailcut", "tailcut_schedule", "round_robin", "thompson"])
def test_a_decision_of_another_selector_is_refused_whatever_its_contents(name: str, tmp_path: Path) -> None:
    """Even that of a twin: without names of instances, the two decisions are equal."""
    one, other = made(name), made(name)
    foreign, own = one.select([1.0, 2.0]), other.select([1.0, 2.0])
    assert foreign == own
    refuses(other, foreign)
    refuses(other, pickle.loads(pickle.dumps(foreign)))
    other.save(tmp_path / "state")
    loaded = Selector.load(tmp_path / "state")
    refuses(loaded, foreign)
    refuses(copy.deepcopy(other), foreign)
    assert copy.deepcopy(other).observe(own, runtime=1.0)
    assert loaded.observe(pickle.loads(pickle.dumps(own)), runtime=1.0)
    assert other.observe(own.id, runtime=1.0)  # a number alone is taken for one's own


def test_after_its_outcome_it_is_refused_as_well() -> None:
    one, other = made(), made()
    foreign = one.select([1.0])
    other.observe(other.select([1.0]), runtime=1.0)
    refuses(other, foreign)
    refuses(other, one.select([1.0]))  # a number that the other has not reached


def test_what_was_restored_from_bytes_knows_decisions_by_their_contents() -> None:
    one = made()
    decision = one.select([1.0, 2.0])
    restored = Selector.from_bytes(one.to_bytes())
    other = made()
    other.select([3.0, 4.0])
    refuses(Selector.from_bytes(other.to_bytes()), decision)
    assert restored.observe(Decision.from_dict(decision.to_dict()), runtime=1.0)


def test_a_pickled_decision_of_another_process_is_refused(tmp_path: Path) -> None:
    code = (
        "import pickle, sys; from tailcut import Selector; "
        "decision = Selector('tailcut', ['a', 'b'], 60.0).select([1.0]); "
        "open(sys.argv[1], 'wb').write(pickle.dumps(decision))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "decision"], check=True)
    selector = made()
    selector.select([1.0])
    refuses(selector, pickle.loads((tmp_path / "decision").read_bytes()))


def test_a_project_keeps_its_decisions_apart_and_knows_them_after_a_restart(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        settings = {"selector": "tailcut", "algorithms": NAMES, "cutoff": 60.0}
        one, other = (Project.create(journal, name, settings) for name in "pq")
        decision = one.select([1.0])
        other.select([1.0])
        with pytest.raises(UnknownDecisionError, match="another one made it"):
            other.observe(decision, runtime=1.0)
        with pytest.raises(UnknownDecisionError, match="another one made it"):
            other.observe(made().select([1.0]), runtime=1.0)
        kept = pickle.dumps(decision)
    with Journal(tmp_path / "state.db") as journal:
        assert Project(journal, "p").observe(pickle.loads(kept), runtime=1.0)


def test_saved_while_another_thread_observes_no_bad_file_replaces_a_good_one(tmp_path: Path) -> None:
    """Two threads at once are an error in one of them, and what `save` leaves can always be loaded."""
    rng, path = np.random.default_rng(0), tmp_path / "state"
    selector = Selector("thompson", [f"a{number}" for number in range(8)], 60.0)
    selector.select(rng.normal(size=150))
    selector.save(path)
    ended, errors = threading.Event(), list[BaseException]()

    def observe() -> None:
        until = time.monotonic() + 60.0
        while not errors and time.monotonic() < until:
            try:
                selector.observe(selector.select(rng.normal(size=150)), runtime=1.0)
            except BaseException as error:
                errors.append(error)
        ended.set()

    thread = threading.Thread(target=observe)
    thread.start()
    while not ended.is_set():
        try:
            selector.save(path)
        except BaseException as error:
            errors.append(error)
        Selector.load(path)
    thread.join()
    assert {type(error) for error in errors} <= {ConcurrentUseError}
    assert errors, "two threads were never at it at the same time"
    selector.save(path)
    assert Selector.load(path).to_bytes() == selector.to_bytes()


def test_a_call_during_another_is_refused_and_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    selector, other = made(), made()
    decision = selector.select([1.0])
    other.select([1.0])
    assert selector._policy is not None
    policy = type(selector._policy)
    inside, go_on = threading.Event(), threading.Event()
    learn = policy.learn

    def slow(*given: object) -> None:
        inside.set()
        assert go_on.wait(60)
        learn(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(policy, "learn", slow)
    thread = threading.Thread(target=selector.observe, args=(decision,), kwargs={"runtime": 1.0})
    thread.start()
    assert inside.wait(60)
    uses: list[Callable[[], object]] = [
        lambda: selector.select([1.0]),
        lambda: selector.race([1.0], k=2),
        lambda: selector.observe(decision, runtime=1.0),
        lambda: selector.proceed(decision),
        lambda: selector.consider([1.0]),
        lambda: selector.add_algorithm("c"),
        lambda: selector.remove_algorithm("a"),
        selector.to_bytes,
    ]
    for use in uses:
        with pytest.raises(ConcurrentUseError, match="another thread is using this selector"):
            use()
    go_on.set()
    thread.join()
    other.observe(0, runtime=1.0)
    assert selector.to_bytes() == other.to_bytes()


def test_a_state_that_is_damaged_does_not_replace_a_good_one(tmp_path: Path) -> None:
    path, selector = tmp_path / "state", made()
    selector.save(path)
    good = path.read_bytes()
    bad = bytearray(statefile.pack({"kind": "selector", "x": np.arange(9.0)}))
    bad[-3] ^= 1
    with pytest.raises(StateFileError, match="checksum"):
        statefile.write(path, bytes(bad))
    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]
    assert issubclass(ConcurrentUseError, TailcutError)
