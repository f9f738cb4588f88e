"""The domain as a user runs it: generated formulas, every solver found, costs compared, models checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.domains.maxsat.generate import main
from tests.domains.end_to_end import COUNT, found_or_skip, run_domain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of runs of real solvers


@pytest.mark.slow
def test_a_queue_of_formulas(tmp_path: Path) -> None:
    found_or_skip("maxsat")
    assert main([str(tmp_path / "queue"), "--count", str(COUNT)]) == 0
    lines = run_domain(tmp_path, "maxsat")
    kinds = {line["answer"].split()[0] for line in lines.values()}
    assert kinds == {"OPTIMUM", "UNSATISFIABLE"}
