"""Events are written as JSON that Python's own module reads back bit for bit."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.service.responses import to_json

numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


@given(body=st.dictionaries(st.text(), plain))
def test_what_is_written_is_read_back(body: dict[str, Any]) -> None:
    assert json.loads(to_json(body)) == body


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_keep_every_bit(values: list[float]) -> None:
    read = json.loads(to_json({"features": values}))["features"]
    assert struct.pack(f"{len(values)}d", *read) == struct.pack(f"{len(values)}d", *values)


def test_a_number_of_numpy_is_a_number_and_nothing_else_is() -> None:
    assert to_json({"budget": np.float64(0.1)}) == b'{"budget":0.1}'
    with pytest.raises(TypeError, match="serializable"):
        to_json({"budget": object()})
