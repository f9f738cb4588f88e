"""The recipe for a solver of one's own is followed: the commands of its page, and its program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("highspy", reason="the recipe needs HiGHS: pip install 'tailcut[sat]'")
pytest.importorskip("pulp", reason="the recipe needs CBC: pip install pulp")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "recipe-mip.md"
FOLDER = ROOT / "examples" / "mip"


def shell(script: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended


def copied(folder: Path) -> Path:
    """Return a copy of the recipe's folder, at the place the page speaks of."""
    target = folder / "examples" / "mip"
    target.mkdir(parents=True)
    for file in (FOLDER / "change.py", FOLDER / "portfolio.toml"):
        shutil.copy(file, target)
    return target


def shape(text: str) -> list[str]:
    """Return the lines of an output, numbers, rules and the width of gaps aside."""
    lines = [re.sub(r"[\s─]+", " ", re.sub(r"-?\d[\d.]*", "#", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("limits are enforced")]


@pytest.mark.slow
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    copied(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    steps = re.findall(r"^```sh\n(.*?)^```(?:\n+```text\n(.*?)^```)?", text, re.MULTILINE | re.DOTALL)
    script = "".join(f"{commands}\necho '@@@'\n" for commands, _ in steps)
    printed = shell(script, tmp_path).stdout.split("@@@\n")
    assert len(printed) == len(steps) + 1
    exact = 0
    for (commands, shown), output in zip(steps, printed, strict=False):
        if not shown:
            assert output == "", f"the page shows nothing of {commands}"
        elif "..." in shown:  # shortened: which solver was chosen depends on the machine
            assert output, commands
        else:
            assert shape(output) == shape(shown), commands
            exact += 1
    assert exact == 1

    mip = tmp_path / "my-programs"
    answers = [json.loads(line) for line in (mip / "tailcut-run.jsonl").read_text().splitlines()]
    assert len(answers) == 12
    assert {answer["answer"].split()[0] for answer in answers} == {"optimal", "infeasible"}
    assert len(list((mip / "solutions").iterdir())) == 12
    assert (mip / "measured" / "description.txt").exists()


def test_the_programs_own_examples_hold() -> None:
    shell("python -m doctest change.py", FOLDER)


def test_the_solver_gives_up_on_what_is_not_its_kind(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    shell("python -m tailcut.domains.mip.generate queue --count 4", folder)
    call = 'python -c "import sys, change; sys.exit(change.main(sys.argv[1:]))" queue/'
    assert "Optimal" in shell(call + "change-0000.mps", folder).stdout
    for other in ("cover-0001", "lots-0002", "knapsack-0003"):
        assert shell(call + f"{other}.mps", folder, code=3).stdout == ""
