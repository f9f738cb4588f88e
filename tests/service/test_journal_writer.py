"""The writer's queues: who shares a transaction with whom."""

from __future__ import annotations

import asyncio

import pytest

from tailcut.service.journal_writer import GROUP, QueuedWork, WorkQueues
from tailcut.service.responses import BusyError


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
def test_a_group_is_counted_in_steps(steps: list[int], sizes: list[int]) -> None:
    """Nobody waits for more than a group and one batch."""
    queues, loop = WorkQueues(limit=1000), asyncio.new_event_loop()
    for count in steps:
        queues.put(QueuedWork(None, int, loop.create_future(), False, count), slow=False)
    queues.close()
    groups = [queues.next_group() for _ in sizes]
    assert [len(group) for group in groups] == sizes
    assert [one.steps for group in groups for one in group] == steps
    assert queues.next_group() == []
    loop.close()


def test_the_queues_take_turns_and_are_limited() -> None:
    queues, loop = WorkQueues(limit=2), asyncio.new_event_loop()

    def work(steps: int) -> QueuedWork[int]:
        return QueuedWork(None, int, loop.create_future(), False, steps)

    for slow in (False, True):
        for _ in range(2):
            queues.put(work(GROUP), slow=slow)
        with pytest.raises(BusyError):
            queues.put(work(1), slow=slow)
    waiting = []
    for _ in range(4):
        queues.next_group()
        waiting.append((queues.waiting(slow=False), queues.waiting(slow=True)))
    assert waiting in ([(2, 1), (1, 1), (1, 0), (0, 0)], [(1, 2), (1, 1), (0, 1), (0, 0)])
    queues.close()
    with pytest.raises(BusyError):
        queues.put(work(1), slow=False)
    loop.close()
