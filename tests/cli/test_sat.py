"""``tailcut sat``: files, lists and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailcut.cli.app import app
from tailcut.domains.sat.cnf import read
from tailcut.domains.sat.generators import FAMILIES, stream
from tailcut.domains.sat.solvers import SOLVERS
from tailcut.errors import InputError

SMALL = ["--family", "tseitin4", "--family", "pigeonhole"]


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["sat", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_generate_writes_the_stream_once(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    call = ("generate", "--out", str(out), "--count", "5", "--seed", "3", *SMALL)
    assert _run(*call) == f"{out}: 5 formulas written\n"
    expected = dict(stream(5, 3, ["tseitin4", "pigeonhole"]))
    assert {path.stem: read(path) for path in out.iterdir()} == expected
    next(out.iterdir()).unlink()
    rows = json.loads(_run(*call, "--json"))
    assert [Path(row["file"]).stem for row in rows] == list(expected)
    assert sum(row["written"] for row in rows) == 1
    assert _run(*call) == f"{out}: 0 formulas written, 5 already existed\n"


def test_generate_overwrites_nothing(tmp_path: Path) -> None:
    name = next(name for name, _ in stream(3, 0, ["pigeonhole"]))
    (tmp_path / f"{name}.cnf").write_text("mine")
    with pytest.raises(InputError, match=f"{name}.cnf: exists with different content"):
        _run("generate", "--out", str(tmp_path), "--count", "3", "--family", "pigeonhole")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_generate_into_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be written: File exists"):
        _run("generate", "--out", str(tmp_path / "file"), "--count", "1", *SMALL)


def test_generate_an_unknown_family(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no family 'x'"):
        _run("generate", "--out", str(tmp_path / "new"), "--family", "x")
    assert not (tmp_path / "new").exists()


def test_the_page_lists_the_solvers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "sat.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{name}` | {what} |" for name, what in SOLVERS.items())
    assert f"| name | what it is |\n|---|---|\n{rows}\n" in page


@pytest.mark.parametrize(("command", "table"), [("families", FAMILIES), ("solvers", SOLVERS)])
def test_lists(command: str, table: dict[str, object]) -> None:
    assert [row["name"] for row in json.loads(_run(command, "--json"))] == list(table)
    assert [line.split()[0] for line in _run(command).splitlines()] == list(table)
