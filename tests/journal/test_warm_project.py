"""A project learns recorded runs: once for each source, also in pieces; what is left over is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailcut.errors import InputError
from tailcut.journal import EventKind, Journal, Project, past_runs
from tailcut.journal.past_runs import WarmStart, learn_past_runs
from tailcut.policies.recorded_runs import RecordedRuns


def recorded(
    solvers: tuple[str, ...] = ("a", "b", "z"),
    names: tuple[str, ...] = ("x", "y", "old"),
    cutoff: float = 60.0,
) -> RecordedRuns:
    rng = np.random.default_rng(0)
    runtimes = rng.uniform(1.0, 90.0, (40, len(solvers)))
    return RecordedRuns(
        algorithms=solvers,
        cutoff=cutoff,
        feature_names=names,
        features=rng.standard_normal((40, len(names))),
        runtimes=runtimes,
        solved=runtimes < cutoff,
        known=None,
        instances=tuple(f"i{number}" for number in range(40)),
    )


def begin(journal: Journal, **more: object) -> Project:
    settings = {"selector": "tailcut", "algorithms": ["a", "b", "c"], "cutoff": 60.0, **more}
    return Project.create(journal, "run", settings)


def names(*given: str) -> Callable[[], tuple[str, ...]]:
    return lambda: given


def never() -> RecordedRuns:
    raise AssertionError("what is learned already is not read again")


def test_it_is_learned_once_for_each_source_and_left_overs_are_reported(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal)
        report = learn_past_runs(project, "here", recorded, names("y", "x", "new"))
        assert report == WarmStart(
            "here",
            runs=80,
            instances=40,
            solvers_without_runs=("c",),
            solvers_left_over=("z",),
            features_not_recorded=("new",),
            features_left_over=("old",),
            recorded_cutoff=60.0,
            cutoff=60.0,
        )
        assert report.describe() == [
            "warm start: 80 runs on 40 instances learned from here",
            "warm start: without recorded runs: c",
            "warm start: recorded solvers that are not here: z",
            "warm start: features that are not recorded, missing there: new",
            "warm start: recorded features that are not here: old",
        ]
        assert project.selector.feature_names == ("y", "x", "new")
        before = project.selector.to_bytes()
        again = learn_past_runs(project, "here", never, names("y", "x", "new"))
        assert (again.earlier, again.runs) == (True, 80)
        assert project.selector.to_bytes() == before
        assert project.verify() == 1
        other = learn_past_runs(project, "there", lambda: recorded(("c",)), names("y", "x", "new"))
        assert (other.earlier, other.runs, other.solvers_without_runs) == (False, 40, ("a", "b"))


def test_an_interruption_between_two_pieces_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_runs, "PIECE_ROWS", 7)
    with Journal(tmp_path / "whole.db") as journal:
        whole = begin(journal)
        assert learn_past_runs(whole, "here", recorded, names("x", "y")).runs == 80
        expected = whole.selector.to_bytes()
    fit, learned = Project.fit, 0

    def interrupted(self: Project, *given: object, **more: object) -> int:
        nonlocal learned
        learned += 1
        if learned == 4:
            raise KeyboardInterrupt
        return fit(self, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Project, "fit", interrupted)
    with Journal(tmp_path / "state.db") as journal, pytest.raises(KeyboardInterrupt):
        learn_past_runs(begin(journal), "here", recorded, names("x", "y"))
    with Journal(tmp_path / "state.db") as journal:
        project = Project(journal, "run")
        assert len(list(project.history())) == 3
        assert learn_past_runs(project, "here", recorded, names("x", "y")).runs == 80
        assert len([one for one in project.history() if one.kind is EventKind.FIT]) == 6
        assert project.selector.to_bytes() == expected
        project.verify()


def test_a_source_that_changed_after_an_interruption_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_runs, "PIECE_ROWS", 30)
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal)
        learn_past_runs(project, "here", recorded, names("x", "y"))
        last = max(event.number for event in project.history())
        with journal.transaction() as db:
            db.execute("DELETE FROM events WHERE number = ?", (last,))
    with Journal(tmp_path / "state.db") as journal:
        project = Project(journal, "run")
        changed = replace(recorded(), features=recorded().features + 1.0)
        report = learn_past_runs(project, "here", lambda: changed, names("x", "y"))
        assert report.runs == 60
        assert "has changed since a part of it was learned" in report.describe()[-1]
        assert len(list(project.history())) == 1


def test_where_nothing_can_be_learned_that_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal)
        with pytest.raises(InputError, match="nothing can be learned: it has runs of u, v, and none of a, b"):
            learn_past_runs(project, "here", lambda: recorded(("u", "v")), names("x"))
        with pytest.raises(InputError, match="it has the features x, y, old, and none of p, q"):
            learn_past_runs(project, "here", recorded, names("p", "q"))
        assert list(project.history()) == []


@pytest.mark.parametrize(
    ("cutoff", "word"), [(20.0, "recorded for 20 s, not 60 s"), (600.0, "recorded for 600 s, not 60 s")]
)
def test_another_cutoff_is_said(tmp_path: Path, cutoff: float, word: str) -> None:
    with Journal(tmp_path / "state.db") as journal:
        report = learn_past_runs(begin(journal), "here", lambda: recorded(cutoff=cutoff), names("x"))
        assert report.runs == 80
        assert word in report.describe()[-1]


def test_features_that_nobody_computes_are_left_over(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal)
        report = learn_past_runs(project, "here", recorded, names())
        assert report.features_left_over == ("x", "y", "old")
        assert project.selector.n_features is None
        assert project.select(None).algorithm in "abc"


def test_selectors_without_features_have_none_left_over(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal, selector="epsilon_greedy")
        report = learn_past_runs(project, "here", recorded, names("p"))
        assert (report.features_left_over, report.features_not_recorded, report.runs) == ((), (), 80)


def test_all_recorded_features_are_taken_where_none_are_known_yet(tmp_path: Path) -> None:
    with Journal(tmp_path / "state.db") as journal:
        project = begin(journal)
        assert learn_past_runs(project, "here", recorded, lambda: None).features_left_over == ()
        assert project.selector.feature_names == ("x", "y", "old")
