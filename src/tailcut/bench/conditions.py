"""The conditions of a contender: extra runs beside the stream, or cross-validation.

They belong to the contender and are the last part of its label: `tailcut@measure-first=25`,
`tailcut_schedule@cv,learn-on`. Without any, the instances are a stream, and nothing runs but the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from tailcut.errors import InputError, did_you_mean


class BenchProtocol(StrEnum):
    """What a benchmark does with the instances of a scenario."""

    STREAM = "stream"
    CV = "cv"


@dataclass(frozen=True)
class Conditions:
    """The conditions of a contender in the benchmark, in addition to its hyperparameters.

    >>> Conditions.parse("measure-first=25,measure-cutoff=0.1").label
    'measure-first=25,measure-cutoff=0.1'
    >>> Conditions.parse("cv,learn-on") == Conditions(cv=True, learn_on=True)
    True
    >>> Conditions().label
    ''
    """

    measure_first: int = 0
    """The number of instances at the start of the stream that are run with every algorithm."""
    measure_cutoff: float = 1.0
    """How long each of these runs may take, as a share of the cutoff."""
    cv: bool = False
    """Cross-validation: trained on all folds but one, scored on that one."""
    folds: int = 0
    """The number of folds to make by the seed if a scenario has none; 0: make none."""
    cores: int = 1
    """The number of algorithms at once on an instance, as a race; times are then wall times."""
    learn_on: bool = False
    """Whether the selector continues to learn during the test fold."""

    def __post_init__(self) -> None:
        _check(self.measure_first >= 0, "measure-first", "expected 0 or more instances")
        _check(0.0 < self.measure_cutoff <= 1.0, "measure-cutoff", "expected a share of the cutoff, 0 to 1")
        _check(self.folds == 0 or self.folds >= 2, "folds", "expected 2 or more")
        _check(self.cores >= 1, "cores", "expected 1 or more")
        raced = self.cores > 1 and (self.cv or self.runs_extra)
        _check(not raced, "cores", "is for streams whose answers are all that runs")
        unmeasured = self.measure_first == 0 and self.measure_cutoff != 1.0
        _check(
            not unmeasured, "measure-cutoff", "is for instances measured first: give measure-first as well"
        )
        _check(
            self.cv or not self.learn_on, "learn-on", "is for cross-validation: a stream is learned anyway"
        )
        _check(self.cv or not self.folds, "folds", "are for cross-validation")
        _check(not (self.cv and self.runs_extra), "cv", "learns from whole folds: nothing else is measured")

    @property
    def runs_extra(self) -> bool:
        return self.measure_first > 0

    @property
    def label(self) -> str:
        """The conditions that differ from the defaults, as `parse` reads them."""
        given = {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}
        usual = {field.name.replace("_", "-"): field.default for field in fields(self)}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        return ",".join(name if value is True else f"{name}={value}" for name, value in changed.items())

    @staticmethod
    def parse(text: str) -> Conditions:
        """Return the conditions in a label; raise if they are invalid."""
        given: dict[str, Any] = {}
        known = [field.name.replace("_", "-") for field in fields(Conditions)]
        for option in filter(None, (part.strip() for part in text.split(","))):
            key, equals, value = option.partition("=")
            if key not in known:
                raise InputError(f"@{text}: unknown condition {key!r}{did_you_mean(key, known)}")
            name = key.replace("-", "_")
            given[name] = _value(name, value if equals else None, f"@{text}: {key}")
        return Conditions(**given)


def _value(name: str, text: str | None, where: str) -> Any:
    """Return the value of a condition of this name; one that is only there or not has none."""
    if name in ("cv", "learn_on"):
        if text is not None:
            raise InputError(f"{where} takes no value")
        return True
    kind = float if name == "measure_cutoff" else int
    try:
        return kind(text or "")
    except ValueError:
        raise InputError(f"{where}: expected a number, got {text or 'nothing'!r}") from None


def _check(fine: bool, name: str, problem: str) -> None:
    if not fine:
        raise InputError(f"{name}: {problem}")


STREAM = Conditions()
"""The default: a stream without extra runs."""
