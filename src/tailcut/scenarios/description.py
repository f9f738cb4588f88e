"""description.txt: what a scenario says of itself, in YAML.

PyYAML's nodes are read here, not the values it would make of them: every node has its line, and names such
as ``no`` or ``1e3`` stay text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailcut.errors import MissingExtraError
from tailcut.scenarios.arff import Problems, decode, shown

FILE = "description.txt"
DEPTH = 20
"""How deep lists and mappings may be nested; ASlib descriptions need four levels."""
_NOTHING = {"", "?", "null", "~", "none"}
Node = Any
"""A node of PyYAML: `id` is "scalar", "sequence" or "mapping"."""


@dataclass(frozen=True, slots=True)
class Step:
    """A feature step as described: what it provides, what must run before it, whether it is a default."""

    name: str
    provides: tuple[str, ...]
    requires: tuple[str, ...]
    default: bool


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    measures: tuple[str, ...]
    types: tuple[str, ...]
    """RUNTIME or QUALITY, of each measure."""
    cutoff: float
    steps: tuple[Step, ...]
    algorithms: tuple[str, ...]
    """Those with meta information; empty if the description lists none."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each field."""
    maximise: tuple[bool, ...] = ()
    """Of each measure, whether more is better; empty if the description does not say."""


RUNTIME, QUALITY = "runtime", "solution_quality"
"""The types of performance measures."""


def yaml_module() -> Any:
    """Return PyYAML, or say how to install it."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtraError(
            "reading and writing ASlib scenarios needs PyYAML: pip install 'tailcut[aslib]'"
        ) from None
    return yaml


def parse(data: bytes, problems: Problems) -> Description | None:
    r"""Return the description, or None if it cannot be used; note what is wrong.

    >>> text = b"scenario_id: S\nperformance_measures: runtime\nperformance_type: runtime\n"
    >>> parse(text + b"algorithm_cutoff_time: 1.0e+3", Problems()).cutoff
    1000.0
    """
    before = len(problems.errors)
    root = _compose(data, problems)
    fields = None if root is None else _mapping(root, None, "expected 'field: value' lines", problems)
    if fields is None:
        return None
    description = Description(
        name=_text(fields, "scenario_id", problems),
        measures=_texts(fields, "performance_measures", problems, required=True),
        types=tuple(kind.lower() for kind in _texts(fields, "performance_type", problems, required=True)),
        cutoff=_cutoff(fields, problems),
        steps=_steps(fields, problems),
        algorithms=_algorithms(fields, problems),
        lines={name: _line(node) for name, node in fields.items()},
        maximise=tuple(text.lower() == "true" for text in _texts(fields, "maximize", problems)),
    )
    _check_measures(description, problems)
    return description if len(problems.errors) == before else None


def _compose(data: bytes, problems: Problems) -> Node | None:
    """Return the node of the whole file, or None after noting why it cannot be read."""
    text = decode(data, FILE, problems)
    if text is None:
        return None
    yaml = yaml_module()
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = 0
    anchors: set[str | None] = set()
    try:
        # PyYAML's composer ends the whole process on a file that opens a million lists, and does not name
        # an alias that refers to nothing: look for both first.
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
                problems.error(FILE, line, None, f"*{event.anchor} refers to nothing")
                return None
            anchors.add(getattr(event, "anchor", None))
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEPTH:
                problems.error(FILE, line, None, f"nested deeper than {DEPTH} levels")
                return None
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        problems.error(FILE, mark.line + 1 if mark else None, None, f"not valid YAML: {reason}")
        return None
    if root is None:
        problems.error(FILE, None, None, "is empty")
    return root


def _line(node: Node) -> int:
    line: int = node.start_mark.line + 1
    return line


def _mapping(node: Node, field: str | None, expected: str, problems: Problems) -> dict[str, Node] | None:
    """Return the nodes of a mapping by name, or None after noting that it is none."""
    if node.id != "mapping":
        problems.error(FILE, _line(node), field, expected)
        return None
    nodes: dict[str, Node] = {}
    for key, value in node.value:
        if key.id != "scalar":
            problems.error(FILE, _line(key), None, "expected a field name, got a list or mapping")
        elif key.value in nodes:
            problems.error(FILE, _line(key), None, f"field {shown(key.value)} is given twice")
        else:
            nodes[key.value] = value
    return nodes


def _check_measures(description: Description, problems: Problems) -> None:
    line, types, n = description.lines.get("performance_type"), description.types, len(description.measures)
    if types and len(types) != n:
        message = f"expected one per performance measure ({n}), got {len(types)}"
        problems.error(FILE, line, "performance_type", message)
    for kind in types:
        if kind not in (RUNTIME, QUALITY):
            message = f"expected runtime or solution_quality, got {shown(kind)}"
            problems.error(FILE, line, "performance_type", message)


def _cutoff(fields: dict[str, Node], problems: Problems) -> float:
    """Return the cutoff in seconds; nan where none is set."""
    name = "algorithm_cutoff_time"
    text = _text(fields, name, problems)
    if text in _NOTHING:
        return math.nan
    try:
        return float(text)
    except ValueError:
        message = f"expected a number of seconds, got {shown(text)}"
        problems.error(FILE, _line(fields[name]), name, message)
        return math.nan


def _steps(fields: dict[str, Node], problems: Problems) -> tuple[Step, ...]:
    node = fields.get("feature_steps")
    if node is None or node.value in ("", "null", "?"):
        problems.warning(FILE, None, "feature_steps", "no feature steps are described")
        return ()
    described = _mapping(node, "feature_steps", "expected step names, each with 'provides'", problems)
    defaults = _texts(fields, "default_steps", problems)
    steps = []
    for name, content in (described or {}).items():
        place = f"feature_steps.{name}"
        parts = _mapping(content, place, "expected 'provides' and 'requires'", problems)
        if parts is not None:
            provides = _texts(parts, "provides", problems, f"{place}.provides")
            requires = _texts(parts, "requires", problems, f"{place}.requires")
            steps.append(Step(name, provides, requires, name in defaults or "default_steps" not in fields))
    required = [(f"feature_steps.{step.name}.requires", step.requires) for step in steps]
    for place, names in [("default_steps", defaults), *required] if described is not None else ():
        for name in names:
            if name not in {step.name for step in steps}:
                problems.warning(FILE, None, place, f"names {shown(name)}, which is not a feature step")
    return tuple(steps)


def _algorithms(fields: dict[str, Node], problems: Problems) -> tuple[str, ...]:
    node = fields.get("metainfo_algorithms")
    if node is None or node.id != "mapping":
        return ()
    return tuple(_mapping(node, None, "", problems) or ())


def _text(fields: dict[str, Node], field: str, problems: Problems) -> str:
    """Return a required field's text."""
    node = fields.get(field)
    if node is None or node.value in ("", "null"):
        problems.error(FILE, _line(node) if node else None, field, "this field is missing")
        return ""
    if node.id != "scalar":
        problems.error(FILE, _line(node), field, "expected one value, got a list or mapping")
        return ""
    return str(node.value)


def _texts(
    fields: dict[str, Node], field: str, problems: Problems, shown_as: str = "", *, required: bool = False
) -> tuple[str, ...]:
    """Return a field's list of texts; a single text is a list of one."""
    node = fields.get(field)
    texts: tuple[str, ...] = ()
    if node is not None and node.id == "scalar":
        texts = () if node.value.lower() in _NOTHING else (node.value,)
    elif node is not None:
        items = node.value if node.id == "sequence" else [node]
        texts = tuple(item.value for item in items if item.id == "scalar")
        if len(texts) != len(items):
            problems.error(FILE, _line(node), shown_as or field, "expected a list of names")
            return ()
    if required and not texts:
        problems.error(FILE, _line(node) if node else None, field, "this field is missing")
    return texts
