"""A cluster of three workers for all tests; when one was killed, the next test has three again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.conftest import generated
from tests.cluster.farm import Farm

__all__ = ["generated"]


@pytest.fixture(scope="session")
def _one_farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    farm = Farm(tmp_path_factory.mktemp("farm"), workers=3)
    yield farm
    farm.close()


@pytest.fixture
def farm(_one_farm: Farm) -> Farm:
    _one_farm.restore()
    return _one_farm
