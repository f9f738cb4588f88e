"""The keeper's lines: who shares a transaction with whom."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tailcut.service.keeper import GROUP, Job, Keeper
from tailcut.service.limits import Limits
from tailcut.service.metrics import Metrics


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        ([64] * 6, [4, 2]),
        ([1] * 300, [GROUP, 300 - GROUP]),
        ([1000, 1, 1], [1, 2]),
        ([200, 200, 200], [2, 1]),
    ],
    ids=["batches", "single requests", "a large batch", "a little more than a group"],
)
def test_a_group_is_counted_in_steps(tmp_path: Path, steps: list[int], sizes: list[int]) -> None:
    """Nobody waits for more than a group and one batch."""
    keeper = Keeper(tmp_path / "state.db", Limits(), Metrics(), snapshot_every=10)
    try:
        loop = asyncio.new_event_loop()
        keeper._lines[0].extend(Job(None, int, loop.create_future(), False, count) for count in steps)
        groups = [keeper._next_group() for _ in sizes]
        assert [len(group) for group in groups] == sizes
        assert [job.steps for group in groups for job in group] == steps
        assert keeper._next_group() == []
        loop.close()
    finally:
        keeper.stop()
