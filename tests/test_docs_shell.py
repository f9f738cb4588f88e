"""Every shell block of the documentation is run: here, by the test that it names, or it says why not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(?:<!-- (not run|run by):? ([^>]+?) -->\n)?^```(?:sh|console)\n(.*?)^```", re.M | re.S)
_NEEDS = {"picosat": ["start/your-solvers.md"], "minizinc": ["howto/csp.md"]}
"""Programs of the system that pages need."""


class ShellBlock(NamedTuple):
    """A block of commands, and what stands before it: '' where it is run here."""

    mark: str
    why: str
    text: str


def blocks(page: Path) -> list[ShellBlock]:
    return [ShellBlock(*match) for match in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_marks_name_a_reason_or_a_test(page: Path) -> None:
    for block in blocks(page):
        if block.mark == "run by":
            path = ROOT / block.why.split("::")[0]
            assert path.is_file(), block
        elif block.mark:
            assert len(block.why) > 8, block


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(not b.mark for b in blocks(p))], ids=named)
def test_shell_blocks_run(page: Path, tmp_path: Path) -> None:
    for program, pages in _NEEDS.items():
        if any(named(page).endswith(one) for one in pages) and shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    script = "".join(block.text for block in blocks(page) if not block.mark)
    assert not re.search(r"\b(sudo|apt|ssh|rm -rf)\b ", script)
    environment = {name: value for name, value in os.environ.items() if name != "TAILCUT_ASLIB"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    installed = 'set -euo pipefail\npip() { test "$1" = install; }\n'  # what it would install is there
    ended = subprocess.run(
        ["bash", "-c", installed + script],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
