"""What the label of a contender says: `NAME[:key=value,...][@CONDITION,...]`.

The conditions belong to the contender: extra runs beside the stream, a race, or cross-validation. Without
any, the instances are a stream, and nothing runs but the answers.

>>> label = "tailcut:ridge=30.0@measure-first=25"
>>> name_of(label), hyperparameters_of(label), conditions_of(label), default_of(label)
('tailcut', 'ridge=30.0', 'measure-first=25', 'tailcut@measure-first=25')
>>> name_of("tailcut@cv"), hyperparameters_of("tailcut@cv"), conditions_of("tailcut"), default_of("tailcut")
('tailcut', '', '', 'tailcut')
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


class ContenderKind(StrEnum):
    """Who may be compared with whom."""

    ONE_PICK = "one pick"
    SCHEDULE = "schedule"
    BASELINE = "hindsight"


@dataclass(frozen=True)
class Conditions:
    """The conditions of a contender in the benchmark, in addition to its hyperparameters."""

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
        raced = self.cores > 1 and (self.cv or self.runs_extra)
        unmeasured = self.measure_cutoff != 1.0 and self.measure_first == 0
        for wrong, problem in (
            (self.measure_first < 0, "measure-first: expected 0 or more instances"),
            (not 0.0 < self.measure_cutoff <= 1.0, "measure-cutoff: expected a share of the cutoff, 0 to 1"),
            (self.folds < 0 or self.folds == 1, "folds: expected 2 or more"),
            (self.cores < 1, "cores: expected 1 or more"),
            (raced, "cores: is for streams whose answers are all that runs"),
            (unmeasured, "measure-cutoff: is for instances measured first: give measure-first as well"),
            (self.learn_on and not self.cv, "learn-on: is for cross-validation: a stream is learned anyway"),
            (self.folds and not self.cv, "folds: are for cross-validation"),
            (self.cv and self.runs_extra, "cv: learns from whole folds: nothing else is measured"),
        ):
            if wrong:
                raise InputError(problem)

    @property
    def runs_extra(self) -> bool:
        return self.measure_first > 0

    @property
    def label(self) -> str:
        """The conditions that differ from the defaults, as `parse` reads them."""
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        given = {name.replace("_", "-"): getattr(self, name) for name in changed}
        return ",".join(name if value is True else f"{name}={value}" for name, value in given.items())

    @staticmethod
    def parse(text: str) -> Conditions:
        given: dict[str, Any] = {}
        kinds = {name.replace("_", "-"): type(usual) for name, usual in vars(STREAM).items()}
        for option in filter(None, (part.strip() for part in text.split(","))):
            key, equals, value = option.partition("=")
            if key not in kinds:
                raise InputError(f"@{text}: unknown condition {key!r}{did_you_mean(key, kinds)}")
            if kinds[key] is bool and equals:
                raise InputError(f"@{text}: {key} takes no value")
            try:
                given[key.replace("-", "_")] = kinds[key] is bool or kinds[key](value)
            except ValueError:
                raise InputError(f"@{text}: {key}: expected a number, got {value or 'nothing'!r}") from None
        return Conditions(**given)


STREAM = Conditions()
"""The default: a stream without extra runs."""


def name_of(label: str) -> str:
    """Return the name in front of hyperparameters and conditions."""
    return label.partition("@")[0].partition(":")[0]


def hyperparameters_of(label: str) -> str:
    return label.partition("@")[0].partition(":")[2]


def conditions_of(label: str) -> str:
    return label.partition("@")[2]


def default_of(label: str) -> str:
    """Return the label of the same contender without hyperparameters, under the same conditions."""
    return "".join([name_of(label), *label.partition("@")[1:]])


def is_schedule(label: str) -> bool:
    """Return whether a selector or baseline may run several algorithms on an instance."""
    from tailcut.bench.baselines import FIXED  # slow to import, as the next
    from tailcut.catalogue import find

    row = find(name_of(label))
    return name_of(label) in FIXED or (row is not None and row.schedules)


def kind_of(label: str) -> ContenderKind:
    """Return the kind of a contender.

    >>> [str(kind_of(label)) for label in ("thompson:noise_variance=2.0", "round_robin", "sbs_pair")]
    ['one pick', 'schedule', 'hindsight']
    """
    from tailcut.catalogue import BASELINES  # slow to import

    if name_of(label) in BASELINES:
        return ContenderKind.BASELINE
    return ContenderKind.SCHEDULE if is_schedule(label) else ContenderKind.ONE_PICK


def labelled(label: str) -> str:
    """Return a label for people, which marks schedules."""
    return f"{label} (schedule)" if is_schedule(label) else label
