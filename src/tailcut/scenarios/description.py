"""description.txt: what a scenario says of itself, in YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailcut.scenarios.arff import decode
from tailcut.scenarios.problems import Problems, shown
from tailcut.scenarios.yamltree import Node, tree

FILE = "description.txt"
_NOTHING = {"", "?", "null", "~", "none"}


@dataclass(frozen=True, slots=True)
class Step:
    """A feature step as described: what it provides, what must run before it, whether it is a default."""

    name: str
    provides: tuple[str, ...]
    requires: tuple[str, ...]
    default: bool


@dataclass(frozen=True, slots=True)
class Description:
    """The fields that reading runtimes needs."""

    name: str
    measures: tuple[str, ...]
    types: tuple[str, ...]
    cutoff: float
    steps: tuple[Step, ...]
    algorithms: tuple[str, ...]
    """Those with meta information; empty if the description lists none."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each field."""
    maximise: tuple[bool, ...] = ()
    """Of each measure, whether more is better; empty if the description does not say."""


def parse(data: bytes, problems: Problems) -> Description | None:
    r"""Return the description, or None if it cannot be used; note what is wrong.

    >>> text = b"scenario_id: S\nperformance_measures: runtime\nperformance_type: runtime\n"
    >>> parse(text + b"algorithm_cutoff_time: 1.0e+3", Problems()).cutoff
    1000.0
    """
    before = len(problems.errors)
    text = decode(data, FILE, problems)
    root = None if text is None else tree(text, FILE, problems)
    if root is None:
        return None
    if not isinstance(root.value, dict):
        problems.error(FILE, root.line, None, "expected 'field: value' lines")
        return None
    fields = root.value
    description = Description(
        name=_text(fields, "scenario_id", problems),
        measures=_texts(fields, "performance_measures", problems, required=True),
        types=tuple(kind.lower() for kind in _texts(fields, "performance_type", problems, required=True)),
        cutoff=_cutoff(fields, problems),
        steps=_steps(fields, problems),
        algorithms=_keys(fields, "metainfo_algorithms"),
        lines={name: node.line for name, node in fields.items()},
        maximise=tuple(text.lower() == "true" for text in _texts(fields, "maximize", problems)),
    )
    _check_measures(description, fields, problems)
    return description if len(problems.errors) == before else None


def _check_measures(description: Description, fields: dict[str, Node], problems: Problems) -> None:
    """Note lists of measures that do not fit together."""
    line = _line(fields, "performance_type")
    if description.types and len(description.types) != len(description.measures):
        problems.error(
            FILE,
            line,
            "performance_type",
            f"expected one per performance measure ({len(description.measures)}), "
            f"got {len(description.types)}",
        )
    for kind in description.types:
        if kind not in ("runtime", "solution_quality"):
            problems.error(
                FILE, line, "performance_type", f"expected runtime or solution_quality, got {shown(kind)}"
            )


def _cutoff(fields: dict[str, Node], problems: Problems) -> float:
    """Return the cutoff in seconds; nan where none is set."""
    text = _text(fields, "algorithm_cutoff_time", problems)
    if text in _NOTHING:
        return math.nan
    try:
        return float(text)
    except ValueError:
        line = _line(fields, "algorithm_cutoff_time")
        problems.error(
            FILE, line, "algorithm_cutoff_time", f"expected a number of seconds, got {shown(text)}"
        )
        return math.nan


def _steps(fields: dict[str, Node], problems: Problems) -> tuple[Step, ...]:
    node = fields.get("feature_steps")
    if node is None or node.value in ("", "null", "?"):
        problems.warning(FILE, None, "feature_steps", "no feature steps are described")
        return ()
    if not isinstance(node.value, dict):
        problems.error(FILE, node.line, "feature_steps", "expected step names, each with 'provides'")
        return ()
    defaults = _texts(fields, "default_steps", problems)
    steps = []
    for name, content in node.value.items():
        if not isinstance(content.value, dict):
            problems.error(FILE, content.line, f"feature_steps.{name}", "expected 'provides' and 'requires'")
            continue
        provides = _texts(content.value, "provides", problems, f"feature_steps.{name}.provides")
        requires = _texts(content.value, "requires", problems, f"feature_steps.{name}.requires")
        steps.append(Step(name, provides, requires, name in defaults or "default_steps" not in fields))
    names = {step.name for step in steps}
    for place, mentioned in [("default_steps", defaults)] + [
        (f"feature_steps.{step.name}.requires", step.requires) for step in steps
    ]:
        for name in mentioned:
            if name not in names:
                problems.warning(FILE, None, place, f"names {shown(name)}, which is not a feature step")
    return tuple(steps)


def _line(fields: dict[str, Node], field: str) -> int | None:
    return fields[field].line if field in fields else None


def _text(fields: dict[str, Node], field: str, problems: Problems) -> str:
    """Return a required field's text."""
    node = fields.get(field)
    if node is None or node.value in ("", "null"):
        problems.error(FILE, node.line if node else None, field, "this field is missing")
        return ""
    if not isinstance(node.value, str):
        problems.error(FILE, node.line, field, "expected one value, got a list or mapping")
        return ""
    return node.value


def _texts(
    fields: dict[str, Node], field: str, problems: Problems, shown_as: str = "", *, required: bool = False
) -> tuple[str, ...]:
    """Return a field's list of texts; a single text is a list of one."""
    node = fields.get(field)
    found: tuple[str, ...] = ()
    if node is not None and isinstance(node.value, str):
        found = () if node.value.lower() in _NOTHING else (node.value,)
    elif node is not None:
        items = node.value if isinstance(node.value, list) else [node]
        found = tuple(item.value for item in items if isinstance(item.value, str))
        if len(found) != len(items):
            problems.error(FILE, node.line, shown_as or field, "expected a list of names")
            return ()
    if required and not found:
        problems.error(FILE, _line(fields, field), field, "this field is missing")
    return found


def _keys(fields: dict[str, Node], field: str) -> tuple[str, ...]:
    node = fields.get(field)
    return tuple(node.value) if node is not None and isinstance(node.value, dict) else ()
