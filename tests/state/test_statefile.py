"""State files: round trip, damage, foreign files, atomic replacement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailcut.errors import StateFileError
from tailcut.state import pack, unpack, write

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**130), 2**130)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
    | arrays(np.float64, st.tuples(st.integers(0, 3), st.integers(0, 3)))
    | arrays(np.int64, st.integers(0, 4))
)
states = st.dictionaries(
    st.text(max_size=5), st.recursive(leaves, lambda s: st.dictionaries(st.text(max_size=5), s), max_leaves=8)
)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return bool(a.keys() == b.keys()) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    return bool(a == b)


@given(states)
@settings(max_examples=200, deadline=None)
def test_round_trip(state: dict[str, Any]) -> None:
    assert _equal(unpack(pack(state)), state)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_damage_is_refused(data: st.DataObject) -> None:
    packed = bytearray(pack({"weights": np.arange(5.0), "name": "x"}))
    position = data.draw(st.integers(0, len(packed) - 1))
    packed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(StateFileError):
        unpack(bytes(packed))


@given(st.integers(0, 200))
def test_any_truncation_is_refused(length: int) -> None:
    packed = pack({"weights": np.arange(50.0)})
    with pytest.raises(StateFileError):
        unpack(packed[:length])


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04", b"TAILCUT STATE", b"TAILCUT STATE 1\n"])
def test_foreign_files_are_refused(data: bytes) -> None:
    with pytest.raises(StateFileError):
        unpack(data)


def test_a_newer_format_is_named() -> None:
    with pytest.raises(StateFileError, match="format '8' is not known to this Tailcut, which reads 7"):
        unpack(b"TAILCUT STATE 8\nabc\n")


def test_objects_have_no_place_in_a_state() -> None:
    with pytest.raises(StateFileError, match="no place"):
        pack({"bad": np.array([object()])})


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "state"
    write(target, b"old")
    with pytest.raises(TypeError):
        write(target, "not bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_killed_in_the_middle_of_writing_leaves_a_whole_file(tmp_path: Path) -> None:
    """A process that saves without end is killed at odd moments; the file always loads."""
    target = tmp_path / "state"
    code = (
        "import sys, numpy as np\n"
        "from tailcut.state import pack, write\n"
        "for n in range(10**9):\n"
        "    write(sys.argv[1], pack({'n': n, 'weights': np.full(200_000, float(n))}))\n"
        "    print(n, flush=True)\n"
    )
    for attempt in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(attempt + 1):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        state = unpack(target.read_bytes())
        assert (state["weights"] == state["n"]).all()
