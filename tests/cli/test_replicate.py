"""``tailcut replicate`` as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def tailcut(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TAILCUT_ASLIB"}
    return subprocess.run(
        [sys.executable, "-m", "tailcut", "replicate", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, **environment},
    )


def test_a_users_mistake_is_one_line_and_code_2(tmp_path: Path) -> None:
    (tmp_path / "CPMP-2015").mkdir()
    folder = str(tmp_path)
    for arguments, part in [
        ((), "TAILCUT_ASLIB"),
        (("--aslib", folder, "--scenario", "SAT99"), "SAT99"),
        (("--aslib", folder, "--approach", "thomson"), "thomson"),
    ]:
        done = tailcut(*arguments)
        assert done.returncode == 2
        assert part in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_the_folder_may_come_from_the_environment(tmp_path: Path) -> None:
    done = tailcut("--scenario", "CPMP-2015", TAILCUT_ASLIB=str(tmp_path))
    assert f"no folder of that name in {tmp_path}" in done.stderr
