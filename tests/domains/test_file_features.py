"""Features of any file: finite, the same names always, and telling apart what differs."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailcut.domains.file_features import extract, main
from tailcut.domains.programs import ScratchFile
from tailcut.errors import InputError


@given(st.binary(max_size=2000))
def test_any_bytes_have_finite_features(content: bytes) -> None:
    with ScratchFile(content) as file:
        found = extract(file.path)
    assert all(map(math.isfinite, found.values()))
    assert len(found) == 22


def test_a_compressed_file_is_described_by_what_it_holds(tmp_path: Path) -> None:
    text = b"p cnf 3 2\n1 -3 0\n2 3 -1 0\n" * 50
    (tmp_path / "a").write_bytes(text)
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    assert extract(tmp_path / "a") == extract(tmp_path / "a.gz")
    (tmp_path / "b.gz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"is not a \.gz file, or is damaged"):
        extract(tmp_path / "b.gz")


def test_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err
