"""Domains are found by the names of their folders, and describing one loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tailcut.domains import Domain, domain_names, find_domain
from tailcut.errors import InputError


@pytest.mark.parametrize("name", domain_names())
def test_every_folder_describes_a_domain(name: str) -> None:
    domain = find_domain(name)
    assert isinstance(domain, Domain)
    assert all(tiny.path.is_file() for tiny in domain.check)
    assert {tiny.answer for tiny in domain.check} <= {None, *(rule.answer for rule in domain.answers)}


@pytest.mark.parametrize("name", ["tsp", "", "domain", "..sat"])
def test_an_unknown_domain_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"there is no domain '.*'; there are sat"):
        find_domain(name)


def test_a_domain_is_described_without_its_solvers() -> None:
    code = (
        "import sys; import tailcut; before = set(sys.modules)\n"
        "from tailcut.domains import find_domain; find_domain('sat')\n"
        "print(sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ended.stdout.strip()
    assert "tailcut.domains.sat" in loaded
    for heavy in ("tailcut.domains.sat.", "pysat", "highspy", "gbdc"):
        assert heavy not in loaded, loaded
