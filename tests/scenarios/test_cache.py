"""The cache: fast but never stale, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailcut import state as statefile
from tailcut.errors import ScenarioError
from tailcut.scenarios import Scenario, cache
from tailcut.scenarios.aslib_reader import load


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "aslib").glob("*")) if (folder / "aslib").exists() else []


def test_second_reading_comes_from_the_cache_and_is_equal(
    small: Scenario, small_folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Scenario.read(small_folder) == small
    assert len(entries(own_cache)) == 1
    monkeypatch.setattr(
        "tailcut.scenarios.aslib_reader.build", lambda *_: pytest.fail("the files were read again")
    )
    kept = Scenario.read(small_folder)
    assert kept == small
    with pytest.raises(ValueError, match="read-only"):
        kept.features[0, 0] = 1.0


def test_without_the_cache_nothing_is_kept_or_taken(
    small: Scenario, small_folder: Path, own_cache: Path
) -> None:
    assert Scenario.read(small_folder, cache=False) == small
    assert entries(own_cache) == []


def test_a_changed_file_is_seen_even_with_the_same_size_time_and_inode(small_folder: Path) -> None:
    path = small_folder / "algorithm_runs.arff"
    before = Scenario.read(small_folder)
    stat = path.stat()
    with path.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content.replace(b"1.5", b"2.5"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (stat.st_size, stat.st_mtime_ns, stat.st_ino)
    assert before.runtimes[0, 0] == 1.5
    assert Scenario.read(small_folder).runtimes[0, 0] == 2.5


def test_an_optional_file_that_comes_or_goes_is_seen(small_folder: Path) -> None:
    assert Scenario.read(small_folder).has_feature_costs
    (small_folder / "feature_costs.arff").rename(small_folder / "elsewhere")
    assert not Scenario.read(small_folder).has_feature_costs
    (small_folder / "elsewhere").rename(small_folder / "feature_costs.arff")
    assert Scenario.read(small_folder).has_feature_costs


def test_an_error_is_not_hidden_by_an_earlier_success(small_folder: Path) -> None:
    Scenario.read(small_folder)
    (small_folder / "cv.arff").write_text("nonsense")
    with pytest.raises(ScenarioError, match=r"cv\.arff, line 1"):
        Scenario.read(small_folder)


def test_another_version_of_the_reader_reads_anew(
    small_folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Scenario.read(small_folder)
    monkeypatch.setattr(cache, "READER_VERSION", cache.READER_VERSION + 1)
    Scenario.read(small_folder)
    assert len(entries(own_cache)) == 2


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"nonsense",
        statefile.pack({}),
        statefile.pack({"truth_names": None, "truths": {}, "features": "x"}),
        statefile.pack({"truth_names": None, "truths": []}),
    ],
    ids=["empty", "nonsense", "other state", "wrong type", "no mapping"],
)
def test_a_damaged_entry_is_ignored_and_rewritten(
    damaged: bytes, small: Scenario, small_folder: Path, own_cache: Path
) -> None:
    Scenario.read(small_folder)
    (entry,) = entries(own_cache)
    whole = entry.read_bytes()
    entry.write_bytes(damaged)
    assert Scenario.read(small_folder) == small
    assert entry.read_bytes() == whole


def test_every_flipped_byte_of_an_entry_is_noticed(
    small: Scenario, small_folder: Path, own_cache: Path
) -> None:
    Scenario.read(small_folder)
    (entry,) = entries(own_cache)
    whole = entry.read_bytes()
    key = entry.stem
    for position in range(0, len(whole), 37):
        flipped = bytearray(whole)
        flipped[position] ^= 1
        entry.write_bytes(flipped)
        assert cache.get(key) is None
    entry.write_bytes(whole[: len(whole) // 2])
    assert cache.get(key) is None
    entry.write_bytes(whole)
    assert cache.get(key) == small


@pytest.mark.parametrize("place", ["a file", "below a file", "a folder that is a file"])
def test_a_cache_that_cannot_be_written_is_no_error(
    place: str, small: Scenario, small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "aslib").touch()
    where = {"a file": "file", "below a file": "file/below", "a folder that is a file": "folder"}[place]
    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / where))
    assert Scenario.read(small_folder) == small
    assert Scenario.read(small_folder) == small


def test_processes_that_write_at_once_leave_one_whole_entry(
    small: Scenario, small_folder: Path, own_cache: Path
) -> None:
    code = (
        "import sys; from tailcut.scenarios import Scenario, cache\n"
        "from tailcut.scenarios.aslib_reader import load\n"
        "from pathlib import Path\n"
        "folder = Path(sys.argv[1]); key = cache.key(load(folder)); s = Scenario.read(folder, cache=False)\n"
        "for _ in range(40):\n"
        "    cache.put(key, s)\n"
        "    assert cache.get(key) == s\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(small_folder)]) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    (entry,) = entries(own_cache)
    assert cache.get(entry.stem) == small


def test_the_place_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("TAILCUT_CACHE", str(tmp_path / "own"))
    assert cache.user_cache() == tmp_path / "own"
    monkeypatch.delenv("TAILCUT_CACHE")
    assert cache.user_cache() == tmp_path / "xdg" / "tailcut"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.user_cache() == tmp_path / ".cache" / "tailcut"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.user_cache() == tmp_path / "Library" / "Caches" / "tailcut"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.user_cache() == tmp_path / "local" / "tailcut" / "Cache"


def test_keys_differ_by_name_content_and_border_between_files(small_folder: Path) -> None:
    files = load(small_folder)
    keys = {
        cache.key(files),
        cache.key({**files, "cv.arff": b""}),
        cache.key({"a": b"b", "c": b""}),
        cache.key({"a": b"", "c": b"b"}),
    }
    assert len(keys) == 4


@pytest.mark.aslib
def test_real_scenarios_come_back_equal(aslib: Path) -> None:
    for name in ("CPMP-2015", "SAT11-HAND", "MIP-2016"):
        if (aslib / name).is_dir():
            first, second = Scenario.read(aslib / name), Scenario.read(aslib / name)
            assert first == second
            assert first is not second
            assert np.array_equal(first.losses(), second.losses())
