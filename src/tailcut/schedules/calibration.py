"""Calibration: how the actual cost of plans compares with the expected one, by kind of plan.

The best of thousands of plans looks better than it is, the more so the more algorithms there are and the less
is known about them; the best of a few whole runs hardly does. So where all outcomes of an instance are known,
both kinds are tried on it (`tailcut.schedules.rehearsal`), and new ones are compared by what they promise
times what such promises have cost. Where several runs on an instance are no better than one, that is noticed.

Plans that were really carried out are no such evidence: each is of one kind only, and over a few hundred
instances luck decides which kind looks better (docs/background/research.md).
"""

from __future__ import annotations

import numpy as np

from tailcut.state.stateful import Stateful, expect, expect_finite
from tailcut.types import Array

SLICED, WHOLE = 0, 1
"""The two kinds of plans."""
FIRM = 2.5
"""The weight, in unsolved instances, of the prior that plans cost what is expected."""
FORGET = 0.005
"""The share of what was seen that each further plan of the kind makes forgotten: the model learns, too."""
ROUNDING = 1e-9
"""Costs that differ by less than this share are the same."""


class Calibration(Stateful):
    """What plans of both kinds have promised and cost, as shares of the cost of an unsolved instance.

    >>> calibration = Calibration()
    >>> for _ in range(20):
    ...     calibration.note(SLICED, promised=0.2, paid=0.4)
    >>> calibration.prefers_whole(sliced=0.2, whole=0.25)
    True
    >>> calibration.prefers_whole(sliced=0.2, whole=0.4)
    False
    """

    STATE = ("promised", "paid")

    def __init__(self) -> None:
        self.promised, self.paid = np.full(2, FIRM), np.full(2, FIRM)

    @property
    def ratios(self) -> Array:
        """What a plan of each kind costs as a multiple of what it promises, shape (2,)."""
        return np.asarray(self.paid / self.promised)

    def note(self, kind: int, promised: float, paid: float) -> None:
        """Learn the actual cost of a plan, given its expected cost."""
        for sums, value in ((self.promised, promised), (self.paid, paid)):
            sums[kind] += value - FORGET * (sums[kind] - FIRM)

    def prefers_whole(self, sliced: float, whole: float) -> bool:
        """Return whether the best single whole run is preferred to the best plan with several.

        It is where both cost the same up to rounding: a run that is stopped would start again from scratch.
        """
        ratios = self.ratios
        return bool(whole * ratios[WHOLE] <= (1.0 + ROUNDING) * sliced * ratios[SLICED])

    def restored(self) -> None:
        """Check that these can be sums."""
        expect_finite(promised=self.promised, paid=self.paid)
        least = min(float(self.promised.min()), float(self.paid.min()))
        expect(least > 0.0, "promised, paid: expected more than 0")
