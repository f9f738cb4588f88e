"""What all tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests run once more: they start servers and browsers, and a busy machine may be to blame."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A server of its own for one test."""
    with Running(tmp_path / "state.db") as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests of a module that do not get in each other's way."""
    with Running(tmp_path_factory.mktemp("service") / "state.db") as server:
        yield server
