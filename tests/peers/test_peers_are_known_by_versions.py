"""A stored result of a peer counts for the version of its library only."""

from __future__ import annotations

import pytest

from tailcut.bench.plan import fingerprint
from tailcut.catalogue import recipe
from tests.peers.names import LEARNING_ONLINE


@pytest.mark.parametrize("name", LEARNING_ONLINE)
def test_the_version_of_the_library_is_part_of_the_fingerprint(name: str) -> None:
    row = recipe(name)
    assert row.libraries
    assert set(row.libraries) <= set(fingerprint(row).libraries)
