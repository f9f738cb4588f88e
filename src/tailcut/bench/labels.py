"""What the label of a contender says: `NAME[:key=value,...][@condition,...]`."""

from __future__ import annotations

from enum import StrEnum

from tailcut.bench.baselines import FIXED
from tailcut.catalogue import BASELINES, find


class ContenderKind(StrEnum):
    """Who may be compared with whom."""

    ONE_PICK = "one pick"
    SCHEDULE = "schedule"
    BASELINE = "hindsight"


def name_of(label: str) -> str:
    """Return the name in front of hyperparameters and conditions.

    >>> name_of("thompson:noise_variance=2.0"), name_of("tailcut@measure-first=25")
    ('thompson', 'tailcut')
    """
    return label.partition("@")[0].partition(":")[0]


def hyperparameters_of(label: str) -> str:
    """Return the hyperparameters of a label.

    >>> hyperparameters_of("tailcut:ridge=30.0@measure-first=25"), hyperparameters_of("tailcut@cv")
    ('ridge=30.0', '')
    """
    return label.partition("@")[0].partition(":")[2]


def conditions_of(label: str) -> str:
    """Return the conditions of a label.

    >>> conditions_of("tailcut:ridge=30.0@measure-first=25")
    'measure-first=25'
    """
    return label.partition("@")[2]


def default_of(label: str) -> str:
    """Return the label of the same contender without hyperparameters, under the same conditions.

    >>> default_of("tailcut:ridge=30.0@cv"), default_of("tailcut:ridge=30.0")
    ('tailcut@cv', 'tailcut')
    """
    conditions = conditions_of(label)
    return f"{name_of(label)}@{conditions}" if conditions else name_of(label)


def is_schedule(label: str) -> bool:
    """Return whether a selector or baseline may run several algorithms on an instance."""
    name = name_of(label)
    row = find(name)
    return name in FIXED or (row is not None and row.schedules)


def kind_of(label: str) -> ContenderKind:
    """Return the kind of a contender.

    >>> [str(kind_of(label)) for label in ("thompson:noise_variance=2.0", "round_robin", "sbs_pair")]
    ['one pick', 'schedule', 'hindsight']
    """
    if name_of(label) in BASELINES:
        return ContenderKind.BASELINE
    return ContenderKind.SCHEDULE if is_schedule(label) else ContenderKind.ONE_PICK


def labelled(label: str) -> str:
    """Return a label for people, which marks schedules.

    >>> labelled("round_robin"), labelled("sbs")
    ('round_robin (schedule)', 'sbs')
    """
    return f"{label} (schedule)" if is_schedule(label) else label
