"""Without the extra: a selector, a benchmark and a plan say what is missing, and everything else works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.catalogue import OFFLINE_PEERS
from tests.bench.conftest import write_scenario
from tests.peers.names import LEARNING_ONLINE

BLOCKED = """
import sys
from importlib.machinery import PathFinder


class Blocked(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {"vowpalwabbit", "mabwiser", "river", "sklearn", "asf"}:
            return None
        return super().find_spec(name, path, target)


sys.meta_path[:] = [Blocked if one is PathFinder else one for one in sys.meta_path]
"""


def _python(code: str, *arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that finds none of the libraries."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + code, *arguments], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    return done


BENCH = "from tailcut.cli import main; main()"


@pytest.mark.parametrize("name", LEARNING_ONLINE)
def test_a_selector_names_the_extra(name: str) -> None:
    code = f"""
from tailcut import Selector
from tailcut.errors import MissingExtraError
try:
    Selector({name!r}, ["a", "b"], 60.0)
except MissingExtraError as error:
    print(error)
"""
    said = _python(code).stdout
    assert said.startswith(f"{name} needs ")
    assert said.endswith("pip install 'tailcut[peers]'\n")


def test_asf_has_an_extra_of_its_own(tmp_path: Path) -> None:
    done = _python(BENCH, "bench", "--selector", "asf_pairwise", "--out", f"{tmp_path}/r.db", expected=2)
    assert "asf_pairwise needs asf" in done.stderr
    assert "pip install 'tailcut[asf]'" in done.stderr


def test_a_benchmark_of_such_a_selector_names_the_extra(tmp_path: Path) -> None:
    done = _python(BENCH, "bench", "--selector", "vw", "--out", f"{tmp_path}/r.db", expected=2)
    assert "vw needs vowpalwabbit: pip install 'tailcut[peers]'" in done.stderr


@pytest.mark.parametrize(
    ("plan", "missing"), [("peers", LEARNING_ONLINE), ("offline", ("extra_trees", *OFFLINE_PEERS))]
)
def test_a_plan_runs_the_others_and_says_which_are_missing(
    plan: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    write_scenario(tmp_path / "aslib", "ONE")
    options = ["bench", "--plan", plan, "--aslib", f"{tmp_path}/aslib", "--seeds", "1", "--jobs", "1"]
    options += ["--out", f"{tmp_path}/r.db"]
    options += ["--protocol", "cv", "--folds", "2"] if plan == "offline" else []
    done = _python(BENCH, *options, "--json")
    assert "tailcut" in {row["selector"].partition("@")[0] for row in json.loads(done.stdout)}
    shown = " ".join(_python(BENCH, *options).stdout.split())
    for name in missing:
        extra = "asf" if name.startswith("asf") else "peers"
        assert re.search(rf"left out: {name}\S* needs .*: pip install 'tailcut\[{extra}\]'", done.stderr)
        assert re.search(rf"{name}\S* needs ", shown)


def test_nothing_of_the_peers_is_imported_before_it_is_asked_for() -> None:
    code = """
import sys
from tailcut import Selector
selector = Selector("tailcut", ["a", "b"], 60.0)
selector.observe(selector.select([1.0]), runtime=1.0)
print([name for name in sys.modules if name.startswith("tailcut.peers")])
"""
    assert _python(code).stdout == "[]\n"
