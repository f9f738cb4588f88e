"""How selectors learn, by definition."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.report.numbers.learning import learning


def test_learning_is_between_vbs_and_sbs_by_definition() -> None:
    rng = np.random.default_rng(3)
    vbs = rng.uniform(1, 2, 50)
    sbs = vbs + rng.uniform(0, 5, 50)
    at_the_lines = [learning("x", {0: own}, {0: sbs}, {0: vbs}) for own in (vbs, sbs)]
    for found, level, first in zip(at_the_lines, (0.0, 1.0), (1, 1), strict=True):
        assert found is not None
        assert found.npar == pytest.approx(np.full(8, level))
        assert found.break_even == first
    worse = learning("x", {0: sbs + 1e-3}, {0: sbs}, {0: vbs})
    assert worse is not None
    assert worse.break_even is None
    assert learning("x", {0: sbs}, {1: sbs}, {0: vbs}) is None
