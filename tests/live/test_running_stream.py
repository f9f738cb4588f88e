"""`tailcut.live.run`: the stream for programs of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.errors import InputError
from tailcut.live import Callbacks, run
from tailcut.live.observer import StreamObserver
from tests.live import toy


def test_callbacks_hear_everything_and_a_second_call_continues(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",), top="cutoff = 20")
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 no"})
    heard: list[tuple[str, ...]] = []
    callbacks = Callbacks(
        on_start=lambda instance, solver, budget: heard.append(("start", Path(instance).stem, solver)),
        on_end=lambda instance, ended: heard.append(("end", Path(instance).stem, str(ended["answer"]))),
        on_answer=lambda record: heard.append(("answer", Path(record.instance).stem, str(record.answer))),
    )
    totals = run(portfolio, [folder], state=tmp_path / "s.db", callbacks=callbacks)
    assert (totals.over, totals.solved) == (2, 2)
    assert heard == [
        ("start", "one", "a"),
        ("end", "one", "yes"),
        ("answer", "one", "yes"),
        ("start", "two", "a"),
        ("end", "two", "no"),
        ("answer", "two", "no"),
    ]
    heard.clear()
    assert run(portfolio, [folder], state=tmp_path / "s.db", callbacks=callbacks).over == 2
    assert heard == []
    assert (tmp_path / "s.jsonl").exists()


def test_instances_may_come_late_and_an_error_of_a_callback_loses_nothing(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",), top="cutoff = 20")
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 no"})

    def coming() -> Iterator[Path]:
        yield folder / "one.toy"
        yield folder / "two.toy"

    class Full(StreamObserver):
        def instance_over(self, record: object) -> None:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run(portfolio, coming(), state=tmp_path / "s.db", callbacks=Full())
    totals = run(str(portfolio), coming(), state=tmp_path / "s.db")
    assert totals.over == 2
    assert [word for word, _, _ in toy.log(tmp_path)].count("start") <= 3


def test_without_a_cutoff_it_says_so(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",))
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes"})
    with pytest.raises(InputError, match="cutoff"):
        run(portfolio, [folder], state=tmp_path / "s.db")


def test_it_can_be_called_where_an_event_loop_runs_as_in_a_notebook(tmp_path: Path) -> None:
    portfolio = toy.write_portfolio(tmp_path, ("a",), top="cutoff = 20")
    folder = toy.write_instances(tmp_path, {"one": "a 0.02 yes", "two": "a 0.02 no"})

    async def cell() -> int:
        return run(portfolio, [folder], state=tmp_path / "s.db").solved

    assert asyncio.run(cell()) == 2
