"""How selectors learn, by definition."""

from __future__ import annotations

import numpy as np
import pytest

from tailcut.report.curves import learning


def test_learning_is_between_vbs_and_sbs_by_definition() -> None:
    rng = np.random.default_rng(3)
    vbs = rng.uniform(1, 2, 50)
    sbs = vbs + rng.uniform(0, 5, 50)
    references = {"sbs": {0: sbs}, "oracle": {0: vbs}}
    at_the_lines = [learning("x", {"x": {0: own}, **references}) for own in (vbs, sbs)]
    for found, level, first in zip(at_the_lines, (0.0, 1.0), (1, 1), strict=True):
        assert found is not None
        assert found.npar == pytest.approx(np.full(8, level))
        assert found.break_even == first
    worse = learning("x", {"x": {0: sbs + 1e-3}, **references})
    assert worse is not None
    assert worse.break_even is None
    assert learning("x", {"x": {1: sbs}, **references}) is None
