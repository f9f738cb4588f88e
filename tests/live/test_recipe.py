"""The recipe for integer programs is followed: the commands of its page, word by word, and its programs."""

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
CLAIM = "Optimal - objective value 19\n 1 x1 3\n 2 x2 1\n"
"""The optimum of tiny.mps: 3 * 6 + 9 = 27 for 3 * 4 + 7 = 19."""


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
    for file in [*FOLDER.glob("*.py"), FOLDER / "portfolio.toml", FOLDER / "tiny.mps"]:
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
        elif "..." in shown:  # shortened; which solver was chosen depends on the machine
            first = [lines[0].partition(" (")[0] for lines in (shape(output), shape(shown))]
            assert first[0] == first[1], commands
        else:
            assert shape(output) == shape(shown), commands
            exact += 1
    assert exact == 3

    mip = tmp_path / "my-programs"
    answers = [json.loads(line) for line in (mip / "tailcut-run.jsonl").read_text().splitlines()]
    assert len(answers) == 15
    assert {answer["answer"] for answer in answers} == {"optimal"}
    assert len(list((mip / "solutions").iterdir())) == 15
    assert (mip / "measured" / "description.txt").exists()


def test_the_same_seed_writes_the_same_programs_and_they_are_read_back(tmp_path: Path) -> None:
    mip = copied(tmp_path)
    shell("python generate.py a 3 7; python generate.py b 3 7; python generate.py c 3 8", mip)
    texts = {name: [file.read_text() for file in sorted((mip / name).iterdir())] for name in "abc"}
    assert texts["a"] == texts["b"]
    assert not set(texts["a"]) & set(texts["c"])
    again = "import sys, mps; from pathlib import Path; p = Path(sys.argv[1]); mps.write(p, mps.read(p))"
    shell(f"for file in c/*; do python -c '{again}' $file; done", mip)
    assert [file.read_text() for file in sorted((mip / "c").iterdir())] == texts["c"]


def test_the_programs_own_examples_hold(tmp_path: Path) -> None:
    shell("python -m doctest change.py solution.py", copied(tmp_path))


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (CLAIM, None),
        (CLAIM.replace("19", "18"), "the objective is 19, not 18"),
        (CLAIM.replace("x1 3", "x1 4"), "row 0 is violated by 6"),
        (CLAIM.replace("x1 3", "x1 5"), "x1 is out of its bounds"),
        (CLAIM.replace("x1 3", "x1 -1"), "x1 is out of its bounds"),
        ("Optimal - objective value 19.75\n0 x0 5.25\n1 x1 1\n", "x0 must be a whole number"),
        (CLAIM.replace("x1 3", "x1 nan"), "must be a finite number"),
        (CLAIM.replace("x1 3", "x7 3"), "there is no variable x7"),
        ("Stopped on time - objective value 17\n", "the first line must state the objective"),
        ("", "the first line must state the objective"),
    ],
)
def test_a_claim_is_checked(tmp_path: Path, claim: str, reason: str | None) -> None:
    mip = copied(tmp_path)
    (mip / "output").write_text(claim)
    check = "from verify import main; raise SystemExit(main(['tiny.mps', 'output', 'optimal', 'claims.txt']))"
    ended = shell(f'python -c "{check}"', mip, code=0 if reason is None else 1)
    assert reason is None or reason in ended.stderr
    assert (mip / "claims.txt").exists() == (reason is None)


def test_a_claim_that_an_earlier_solution_proves_wrong_is_refuted(tmp_path: Path) -> None:
    mip = copied(tmp_path)
    (mip / "best").write_text(CLAIM)
    (mip / "worse").write_text("Optimal - objective value 20\n 0 x0 3\n 1 x1 1\n 2 x2 1\n")
    (mip / "check.py").write_text(
        "import sys; from verify import main; raise SystemExit(main([*sys.argv[1:], 'claims.txt']))"
    )
    shell("python check.py tiny.mps none infeasible", mip)
    shell("python check.py tiny.mps worse optimal", mip)
    shell("python check.py tiny.mps best optimal", mip)
    refuted = shell("python check.py tiny.mps worse optimal", mip, code=1)
    assert "20 is not the optimum: 19 was found before" in refuted.stderr
    assert "19 was found before" in shell("python check.py tiny.mps none infeasible", mip, code=1).stderr
    another = (
        "mkdir other; sed s/27/28/ tiny.mps > other/tiny.mps; python check.py other/tiny.mps none infeasible"
    )
    shell(another, mip)
