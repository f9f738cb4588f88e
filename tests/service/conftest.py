from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Running


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
