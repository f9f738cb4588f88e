"""The wheel works where nothing else is, as README.md and the home page say; the sources are complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import tailcut

ROOT = Path(__file__).parents[1]


def _run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "TAILCUT_ASLIB"}
    ended = subprocess.run(
        [str(one) for one in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


_WITHOUT_KERNELS = """
from setuptools import Distribution
distribution = Distribution({"script_name": "setup.py"})
distribution.parse_config_files()
distribution.ext_modules = []
distribution.get_command_obj("egg_info").egg_base = to
distribution.get_command_obj("build").build_base = f"{to}/build"
wheel = distribution.get_command_obj("bdist_wheel")
wheel.bdist_dir, wheel.dist_dir = f"{to}/bdist", to
distribution.run_command("bdist_wheel")
"""


def test_a_wheel_holds_all_that_python_needs(tmp_path: Path) -> None:
    """Compiling takes half a minute: the kernels are those that are here; the release builds them."""
    _run(sys.executable, "-c", f"to = {str(tmp_path)!r}\n{_WITHOUT_KERNELS}", cwd=ROOT)
    (wheel,) = tmp_path.glob("tailcut-*.whl")
    there = tmp_path / "there"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(there)
    numerics = Path(tailcut.__file__).parent / "numerics"
    for kernel in numerics.glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
        shutil.copy(kernel, there / "tailcut" / "numerics")
    call = (
        f"import sys; sys.path.insert(0, {str(there)!r})\n"
        f"import tailcut; assert {str(there)!r} in tailcut.__file__\n"
    )
    bench = ("bench", "--selector", "tailcut", "--selector", "sbs", "--seeds", "1", "--executor", "inline")
    code = f"{call}from tailcut.cli import main; sys.argv = ['tailcut', *{bench!r}, '--json']; main()"
    assert '"npar10": 1.0' in _run(sys.executable, "-c", code, cwd=tmp_path)


@pytest.mark.release
def test_the_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    isolated = ("--no-deps", "--no-build-isolation")  # what builds it is installed already
    _run(sys.executable, "-m", "pip", "wheel", *quiet, *isolated, "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("tailcut-*.whl")
    kernels = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith((".so", ".pyd"))}
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    here = (ROOT / "src/tailcut/numerics").glob("*.pyx")
    assert kernels == {f"tailcut/numerics/{source.stem}{suffix}" for source in here}
    _run(sys.executable, "-m", "venv", tmp_path / "empty", cwd=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    pinned = ("--constraint", ROOT / "constraints.txt")
    _run(python, "-m", "pip", "install", *quiet, *pinned, f"{wheel}[cli,bench]", cwd=tmp_path)

    installed = _run(python, "-c", "import tailcut; print(tailcut.__file__)", cwd=tmp_path)
    assert str(tmp_path) in installed
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for source in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            _run(python, "-c", source, cwd=tmp_path)
    command = tmp_path / "empty" / "bin" / "tailcut"
    assert wheel.name.split("-")[1] in _run(command, "--version", cwd=tmp_path)
    assert "tailcut_schedule" in _run(command, "selectors", cwd=tmp_path)
    bench = ("bench", "--selector", "tailcut", "--selector", "sbs", "--seeds", "1", "--json")
    assert '"npar10": 1.0' in _run(command, *bench, cwd=tmp_path)


def test_the_sources_are_what_is_under_version_control(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    make = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    _run(sys.executable, "-c", make, cwd=ROOT)
    (archive,) = tmp_path.glob("tailcut-*.tar.gz")
    with tarfile.open(archive) as sources:
        packed = {one.name.partition("/")[2] for one in sources.getmembers() if one.isfile()}
    made = {name for name in packed if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    tracked = set(_run("git", "ls-files", cwd=ROOT).splitlines())
    hidden = {name for name in tracked if name.startswith(".")}
    assert packed - made == tracked - hidden
