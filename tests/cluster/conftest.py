"""A cluster of three workers for all tests; when one was killed, the next test has three again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.conftest import generated
from tests.cluster.farm import Farm

__all__ = ["generated"]

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def _one_farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    farm = Farm(tmp_path_factory.mktemp("farm"), workers=3)
    yield farm
    farm.close()


@pytest.fixture
def farm(_one_farm: Farm) -> Farm:
    _one_farm.restore()
    return _one_farm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests of real processes run twice: they can fail for no more than a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))
