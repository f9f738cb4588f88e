"""Modules that do not get along in one process are loaded in several; those that do share one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.errors import LiveError
from tailcut.live.limits import Call, Command, Ending, Launcher, ResourceLimits

OWN_FOLDER = """
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "{name}_parts"))
import common

def main(arguments):
    from common import WORD
    print("{name}", WORD, "sharing" in sys.modules)
"""
"""Two of them find different modules under the name `common`."""
NOT_TOGETHER = """
import sys
if "{other}" in sys.modules:
    {harm}

def main(arguments):
    print("{name}", "{name}", "sharing" in sys.modules)
"""
"""As two libraries that export the same symbols."""
HARM = {"raises": "raise ImportError('cannot load twice')", "crashes": "import os; os.abort()"}
LIMITS = ResourceLimits(cpu=20, wall=60)


@pytest.fixture(params=["other parts", "raises", "crashes"])
def clashing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on the path with modules `left` and `right`, which clash, and `sharing`, which does not."""
    for name, other in (("left", "right"), ("right", "left")):
        if request.param == "other parts":
            (tmp_path / f"{name}_parts").mkdir()
            (tmp_path / f"{name}_parts" / "common.py").write_text(f"WORD = {name!r}\n")
            text = OWN_FOLDER.format(name=name)
        else:
            text = NOT_TOGETHER.format(name=name, other=other, harm=HARM[request.param])
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "sharing.py").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        yield tmp_path


@pytest.mark.usefixtures("clashing")
def test_each_entry_point_has_its_own_modules() -> None:
    with Launcher(preload=("left", "sharing", "right")) as launcher:
        for name in ("left", "right", "left"):
            ended = launcher.start(Call(f"{name}:main", ()), LIMITS).wait()
            assert ended is not None
            assert (ended.ending, ended.output) == (Ending.FINISHED, f"{name} {name} True\n".encode())
        plain = launcher.start(Command(("true",)), LIMITS).wait()
        assert plain is not None
        assert plain.ending is Ending.FINISHED
        servers = list(launcher._servers.values())
    assert len(servers) == 3
    assert [server.process.returncode for server in servers] == [0, 0, 0]


def test_so_does_a_portfolio(clashing: Path) -> None:
    """A portfolio of two such solvers, from the command line."""
    lines = ['preload = ["left", "right"]', "[answers.yes]", "pattern = '^(left left|right right) '"]
    for name in ("left", "right"):
        lines += [f"[solvers.{name}]", f'entry = "{name}:main"', 'arguments = ["{instance}"]']
    (clashing / "portfolio.toml").write_text("\n".join(lines))
    (clashing / "one").write_text("")
    command = [sys.executable, "-m", "tailcut", "measure", "portfolio.toml", "one", "--cutoff", "5"]
    done = subprocess.run(
        [*command, "--out", "scenario"], cwd=clashing, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("preloaded in separate processes") == 1
    runs = (clashing / "scenario" / "algorithm_runs.arff").read_text().lower()
    assert runs.count(",ok") == 2, runs


def test_those_that_get_along_share_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("left", "right"):
        (tmp_path / f"{name}.py").write_text("import json, os\ndef main(_): print(json.dumps(os.getppid()))")
    monkeypatch.syspath_prepend(tmp_path)
    with Launcher(preload=("left", "right")) as launcher:
        for name in ("left", "right"):
            ended = launcher.start(Call(f"{name}:main", ()), LIMITS).wait()
            assert ended is not None
            assert json.loads(ended.output) > 0
        assert list(launcher._servers) == [""]


def test_a_module_broken_by_itself_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('broken on purpose')")
    monkeypatch.syspath_prepend(tmp_path)
    with Launcher(preload=("json", "broken")) as launcher, pytest.raises(LiveError) as caught:
        launcher.start(Call("broken:main", ()), LIMITS)
    assert str(caught.value) == "cannot preload broken: broken on purpose"
