"""`tailcut.bench` from Python: what it shows, what `run` takes, and selectors registered in the session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailcut import bench
from tailcut.cli.app import app
from tailcut.errors import InputError


def test_the_package_shows_its_functions() -> None:
    fresh = "import tailcut.bench as bench; print([name for name in bench.__all__ if name not in dir(bench)])"
    shown = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
    assert {"run", "compare", "opened", "__doc__"} <= set(dir(bench))


@pytest.mark.parametrize(
    ("command", "given"),
    [
        (
            ["--protocol", "cv", "--folds", "4", "--learn-on"],
            {"protocol": "cv", "folds": 4, "learn_on": True},
        ),
        (
            ["--measure-first", "5", "--measure-cutoff", "0.5", "--first-seed", "3"],
            {"measure_first": 5, "measure_cutoff": 0.5, "first_seed": 3},
        ),
        (["--cores", "2", "--penalty", "3"], {"cores": 2, "penalty": 3.0, "protocol": "stream"}),
    ],
)
def test_it_takes_the_options_of_the_command(
    command: list[str], given: dict[str, object], generated: Path, tmp_path: Path
) -> None:
    names = [word for name in ("thompson", "random", "sbs") for word in ("--selector", name)]
    words = ["bench", "--aslib", str(generated), *names, "--seeds", "1", "--jobs", "1", "--json"]
    printed = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "r.db"), *command])
    assert printed.exit_code == 0, printed.output
    outcome = bench.run(["thompson", "random", "sbs"], generated, seeds=1, out=tmp_path / "r.db", **given)  # type: ignore[arg-type]
    assert outcome.rows == json.loads(printed.stdout), "of the same cells, decision times included"


def test_what_it_does_not_know_is_named_with_what_it_knows(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"run has no option 'order'; it has: .*protocol.*, penalty"
    ) as raised:
        bench.run(["sbs"], seeds=1, out=tmp_path / "r.db", order="time")
    assert raised.value.field == "order"
    with pytest.raises(InputError, match="protocol: expected stream or cv, got 'folds'"):
        bench.run(["sbs"], seeds=1, out=tmp_path / "r.db", protocol="folds")
    assert not (tmp_path / "r.db").exists()


OWN = """
from dataclasses import dataclass, replace
from tailcut import CATALOGUE, bench, register
from tailcut.errors import TailcutError
from tailcut.policies.losses import ExpectedPar

@dataclass(frozen=True)
class Half(ExpectedPar):
    pass
"""
RUN = """
try:
    outcome = bench.run(["mine", "sbs"], {scenarios!r}, seeds=1, jobs=2, out={out!r})
    print(outcome, len(outcome.rows))
except TailcutError as error:
    print("refused:", error)
"""
PLAIN = 'register(replace(CATALOGUE["thompson"], name="mine", summary="of known parts"))\n'
OF_OWN_PARTS = 'register(replace(CATALOGUE["thompson_rev"], name="mine", loss=Half))\n'


def _printed(words: list[str], folder: Path) -> str:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_selectors_of_the_session_reach_its_workers(generated: Path, tmp_path: Path) -> None:
    run = RUN.format(scenarios=str(generated), out=str(tmp_path / "r.db"))
    expected = "BenchOutcome(3 scenarios, 2 selectors, 0 cells failed) 6\n"
    assert _printed(["-c", OWN + PLAIN + run], tmp_path) == expected
    body = "".join(f"    {line}\n" for line in (OF_OWN_PARTS + run).splitlines())
    (tmp_path / "script.py").write_text(f'{OWN}\nif __name__ == "__main__":\n{body}')
    assert _printed(["script.py"], tmp_path) == expected


@pytest.mark.parametrize("loss", ["Half", "(lambda predicted: predicted)"])
def test_what_workers_cannot_import_is_refused_with_the_ways_out(
    loss: str, generated: Path, tmp_path: Path
) -> None:
    """A class that was typed in is nowhere to import from."""
    run = RUN.format(scenarios=str(generated), out=str(tmp_path / "r.db"))
    said = _printed(["-c", OWN + OF_OWN_PARTS.replace("Half", loss) + run], tmp_path)
    assert said.startswith("refused: mine: other processes cannot load it ("), said
    assert "--import MODULE, from Python modules=[...]" in said
    assert "jobs=1" in said
    (tmp_path / "my_own.py").write_text(OWN + OF_OWN_PARTS)
    run = run.replace("jobs=2", "jobs=2, modules=['my_own']")
    head = "from tailcut import bench\nfrom tailcut.errors import TailcutError\n"
    if loss == "Half":
        assert _printed(["-c", head + run], tmp_path).endswith("2 selectors, 0 cells failed) 6\n")
