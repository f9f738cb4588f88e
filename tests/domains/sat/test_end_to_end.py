"""The domain as a user runs it: every solver found, answers compared, models checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailcut.domains.sat.cnf import write
from tailcut.domains.sat.generators import uniform
from tests.domains.end_to_end import COUNT, found_or_skip, run_domain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # hundreds of runs of real solvers


@pytest.mark.slow
def test_a_queue_of_formulas(tmp_path: Path) -> None:
    found_or_skip("sat")
    (tmp_path / "queue").mkdir()
    rng = np.random.default_rng(3)
    for number in range(COUNT):
        formula = uniform(rng, n=int(rng.integers(40, 70)), k=3, ratio=4.26)
        write(tmp_path / "queue" / f"threshold-{number:02}.cnf", formula)
    lines = run_domain(tmp_path, "sat", "--measure-cutoff", "0.5")  # a local search ends on no refutation
    answers = [line["answer"] for line in lines.values()]
    assert set(answers) == {"SATISFIABLE", "UNSATISFIABLE"}
    assert min(answers.count(one) for one in set(answers)) >= 3
