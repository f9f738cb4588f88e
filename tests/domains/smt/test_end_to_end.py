"""The domain as a user runs it: every solver found, answers compared, models checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailcut.domains.smt.generate import main
from tests.domains.end_to_end import COUNT, found_or_skip, run_domain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of runs of real solvers


@pytest.mark.slow
def test_a_queue_of_scripts(tmp_path: Path) -> None:
    found_or_skip("smt")
    assert main([str(tmp_path / "queue"), "--count", str(COUNT)]) == 0
    lines = run_domain(tmp_path, "smt")
    answers = [line["answer"] for line in lines.values()]
    assert set(answers) == {"sat", "unsat"}
    assert min(answers.count("sat"), answers.count("unsat")) >= 3
