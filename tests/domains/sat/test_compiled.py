"""The local search is compiled once, and what is missing is named."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailcut.domains.sat.cnf import write
from tailcut.domains.sat.local_search import compile_once, load
from tailcut.errors import CompilerError
from tests.domains.sat.small import SATISFIABLE


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(3) as several:
        made = set(several.map(lambda _: compile_once(), range(3)))
    assert len(made) == 1
    assert [path.name for path in (cache / "compiled").iterdir()] == [made.pop().name]
    monkeypatch.setenv("PATH", "")  # no compiler is needed any more
    compile_once()


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(CompilerError, match=r"no C compiler 'cc': install one .* or name it in TAILCUT_CC"):
        compile_once()


def test_the_program_says_that_there_is_no_compiler(cache: Path, tmp_path: Path) -> None:
    write(tmp_path / "f.cnf", SATISFIABLE)
    command = [sys.executable, "-m", "tailcut.domains.sat.solve", "local_search", str(tmp_path / "f.cnf")]
    environment = os.environ | {"TAILCUT_CC": "no-such-compiler", "TAILCUT_CACHE": str(cache)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is no C compiler 'no-such-compiler'" in result.stderr
    assert result.stderr.count("\n") == 1
    warm = [sys.executable, "-c", "import tailcut.domains.sat.warm"]
    assert subprocess.run(warm, env=environment, check=True, capture_output=True).stderr == b""


def test_a_compiler_that_fails(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILCUT_CC", "cc --no-such-option")
    with pytest.raises(CompilerError, match=r"cc --no-such-option failed on local_search-.*no-such-option"):
        compile_once()
    assert list((cache / "compiled").iterdir()) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / "file"))
    with pytest.raises(CompilerError, match=r"cannot be written: .*; set TAILCUT_CACHE to a folder"):
        compile_once()


@pytest.mark.usefixtures("cache")
def test_a_damaged_library() -> None:
    compile_once().write_bytes(b"not a library")
    with pytest.raises(CompilerError, match=r"cannot be loaded: .* delete it to have it made again"):
        load.__wrapped__()
