"""Domains are found by the names of their folders, and describing one loads nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tailcut.domains
from tailcut.domains import Domain, domain_names, find_domain
from tailcut.errors import InputError


@pytest.mark.parametrize("name", domain_names())
def test_every_folder_describes_a_domain(name: str) -> None:
    domain = find_domain(name)
    assert isinstance(domain, Domain)
    assert all(tiny.path.is_file() for tiny in domain.check)
    kinds = {rule.answer.split()[0] for rule in domain.answers}
    assert {(tiny.answer or "").split()[0] for tiny in domain.check} <= kinds
    assert domain.what
    assert domain.features is not None
    assert domain.verify is not None
    assert len(domain.check) >= 2
    assert len({solver.name for solver in domain.solvers}) == len(domain.solvers) >= 2


@pytest.mark.parametrize("name", domain_names())
def test_every_folder_holds_the_same_few_files(name: str) -> None:
    folder = Path(tailcut.domains.__file__).parent / name
    assert all((folder / f"{file}.py").is_file() for file in ("answers", "solve"))
    assert (folder / "generate.py").is_file() or (folder / "generators.py").is_file()


def test_an_installed_package_offers_a_domain(tmp_path: Path) -> None:
    info = tmp_path / "tsp-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: tsp\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tailcut.domains]\ntsp = tours:DOMAIN\nbad = tours:WORDS\n")
    (tmp_path / "tours.py").write_text(
        "from tailcut.domains import Domain\nDOMAIN = Domain(what='tours')\nWORDS = 'no domain'\n"
    )
    code = (
        "from tailcut.domains import domain_names, find_domain; print(*domain_names())\n"
        "print(find_domain('tsp').what)\ntry: find_domain('bad')\nexcept ValueError as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    names, what, problem = ended.stdout.splitlines()
    assert {"sat", "tsp", "bad"} <= set(names.split())
    assert what == "tours"
    assert problem == "the domain 'bad' (tours:WORDS) must be a Domain, got 'no domain'"


@pytest.mark.parametrize("name", ["tsp", "", "domain", "..sat"])
def test_an_unknown_domain_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"there is no domain '.*'; there are .*sat"):
        find_domain(name)


@pytest.mark.parametrize("name", domain_names())
def test_a_domain_is_described_without_its_solvers(name: str) -> None:
    code = (
        "import sys; import tailcut; before = set(sys.modules)\n"
        f"from tailcut.domains import find_domain; find_domain({name!r})\n"
        "print(sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ended.stdout.strip()
    assert f"tailcut.domains.{name}" in loaded
    for heavy in (f"tailcut.domains.{name}.", "pysat", "highspy", "gbdc", "cvc5", "ortools", "numpy"):
        assert heavy not in loaded, loaded
