"""What outcomes measure: runtimes, or losses given by the user. A selector learns one or the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from tailcut.errors import InputError
from tailcut.policies.recipes import Row
from tailcut.types import Outcome, Status


class OutcomeMeasure(StrEnum):
    """What counts; the values are those in saved selectors."""

    UNSETTLED = ""
    """Not known yet; a failed run fits both."""
    TIME = "time"
    LOSS = "loss"

    @staticmethod
    def of(outcome: Outcome) -> OutcomeMeasure:
        """Return what an outcome measures.

        >>> outcomes = Outcome.rated(0.5), Outcome.solved(2.0), Outcome.failed()
        >>> [OutcomeMeasure.of(one).value for one in outcomes]
        ['loss', 'time', '']
        """
        if outcome.status is Status.FAILED:
            return OutcomeMeasure.UNSETTLED
        return OutcomeMeasure.TIME if outcome.loss is None else OutcomeMeasure.LOSS

    def after(self, given: OutcomeMeasure, row: Row, rows: Callable[[], Iterable[Row]]) -> OutcomeMeasure:
        """Return what counts after an outcome that measures `given`; raise if it cannot be learned.

        `row` is the selector's own; the error names those of all `rows()` that could learn it.
        """
        if given is self is OutcomeMeasure.TIME:  # as almost always
            return self
        if given is OutcomeMeasure.LOSS and not row.takes_losses:
            able = ", ".join(one.name for one in rows() if one.takes_losses)
            raise InputError(
                f"{row.name} learns runtimes, not losses; these learn losses: {able}", field="loss"
            )
        if OutcomeMeasure.UNSETTLED not in (self, given) and given is not self:
            words = {OutcomeMeasure.TIME: "times", OutcomeMeasure.LOSS: "losses"}
            raise InputError(
                f"{row.name} has learned {words[self]} so far and cannot learn {words[given]} as well: "
                "use one selector for each",
                field="loss",
            )
        return self or given
