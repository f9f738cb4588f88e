"""What a release needs: workflows that a linter accepts, one version everywhere, files for servers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tailcut

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _project() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project: dict[str, object] = tomllib.load(file)["project"]
    return project


def test_one_version_everywhere() -> None:
    version = _project()["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert tailcut.__version__ == version == citation["version"]
    assert str(version) in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n### ", 1)[0]


def test_everything_that_a_checkout_installs_is_pinned() -> None:
    """One file for all versions of Python: what `pip install .[dev]` brought here has a line in it."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    assert len(pinned) == len(lines)
    waiting = [("tailcut", "dev")]
    needed: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        for text in requires(name) or ():
            wish = Requirement(text)
            if wish.marker is None or wish.marker.evaluate({"extra": extra}):
                new = {(canonicalize_name(wish.name), one) for one in ("", *wish.extras)} - needed
                needed |= new
                waiting += new
    assert {name for name, _ in needed} - pinned == {"tailcut"}


def test_the_linter_accepts_the_workflows() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    if zizmor is None:
        pytest.skip("needs zizmor: pip install 'tailcut[dev]'")
    assert len(WORKFLOWS) == 3
    command = [zizmor, "--offline", "--pedantic", "--no-progress", *map(str, WORKFLOWS)]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_matrix_is_what_the_package_claims() -> None:
    classifiers = _project()["classifiers"]
    assert isinstance(classifiers, list)
    claimed = [name.rpartition(" :: ")[2] for name in classifiers if re.search(r":: 3\.\d+$", name)]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == claimed
    with (ROOT / "pyproject.toml").open("rb") as file:
        wheels = tomllib.load(file)["tool"]["cibuildwheel"]["build"]
    assert wheels == [f"cp{version.replace('.', '')}-*" for version in claimed]


def test_the_container_serves_as_the_command_does() -> None:
    """What it starts parses as a call of `tailcut serve`; the health check asks a route that exists."""
    from tailcut.cli.app import loaded

    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    _, command, *arguments = yaml.safe_load(entry)
    assert loaded(command).make_context(command, arguments).params["host"] == "0.0.0.0"
    routes = (ROOT / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    (path,) = re.findall(r"http://127\.0\.0\.1:8765(/[\w/]+)", text)
    assert f"`GET {path}`" in routes
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    volume = compose["services"]["tailcut"]["volumes"][0].partition(":")
    assert volume[0] in compose["volumes"]
    assert f"VOLUME {volume[2]}" in text


def test_the_systemd_unit_is_sound(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = (ROOT / "packaging" / "tailcut.service").read_text(encoding="utf-8")
    local = tmp_path / "tailcut.service"
    local.write_text(unit.replace("/opt/tailcut/bin/tailcut", "/bin/true"), encoding="utf-8")
    checked = subprocess.run(["systemd-analyze", "verify", str(local)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "Unknown" not in checked.stderr
