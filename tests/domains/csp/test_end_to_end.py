"""The domain as a user runs it: every solver found, objectives compared, solutions checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.domains.csp.generate import main
from tailcut.domains.domain import find_program
from tests.domains.end_to_end import COUNT, found_or_skip, run_domain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of runs of real solvers


@pytest.mark.slow
def test_a_queue_of_models(tmp_path: Path) -> None:
    found_or_skip("csp")
    if find_program("minizinc") is None:
        pytest.skip("MiniZinc flattens models and is not installed: apt install minizinc")
    assert main([str(tmp_path / "queue"), "--count", str(COUNT)]) == 0
    lines = run_domain(tmp_path, "csp")
    assert {line["answer"].split()[0] for line in lines.values()} == {
        "optimal",
        "satisfiable",
        "unsatisfiable",
    }
