"""description.txt: what a scenario says of itself, in YAML.

PyYAML's nodes are read here, not the values it would make of them: every node has its line, and names such
as ``no`` or ``1e3`` stay text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tailcut.errors import MissingExtraError
from tailcut.scenarios.arff import Problems, UnusableFileError, decode, shown

FILE = "description.txt"
DEPTH = 20
"""How deep lists and mappings may be nested; ASlib descriptions need four levels."""
_NOTHING = {"", "?", "null", "~", "none"}
Node = Any
"""A node of PyYAML: `id` is "scalar", "sequence" or "mapping"."""


@dataclass(frozen=True, slots=True)
class Step:
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
    maximise: tuple[bool, ...]
    """Of each measure, whether more is better; empty if the description does not say."""


RUNTIME, QUALITY = "runtime", "solution_quality"
"""The types of performance measures."""
_WANTED = {
    RUNTIME: "expected a runtime. QualityScenario.read reads it; `tailcut bench --scenario NAME` runs it",
    QUALITY: "expected a solution_quality. Scenario.read reads runtimes",
}


def yaml_module() -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtraError(
            "reading and writing ASlib scenarios needs PyYAML: pip install 'tailcut[aslib]'"
        ) from None
    return yaml


def parse(data: bytes, problems: Problems, measured: str | None = None) -> Description:
    r"""Return the description, or give up if it cannot be used; note what is wrong.

    The first measure must be of the type `measured`, if that is given; runtimes need a cutoff.

    >>> text = b"scenario_id: S\nperformance_measures: runtime\nperformance_type: runtime\n"
    >>> parse(text + b"algorithm_cutoff_time: 1.0e+3", Problems()).cutoff
    1000.0
    """
    before = len(problems.errors)
    root = _compose(decode(data, FILE, problems), problems)
    if root.id != "mapping":
        problems.give_up(FILE, _line(root), None, "expected 'field: value' lines")
    fields = _Fields(root, None, "", problems)
    listed = fields.nodes.get("metainfo_algorithms")
    algorithms = _Fields(listed, None, "", problems) if listed and listed.id == "mapping" else None
    description = Description(
        name=fields.text("scenario_id"),
        measures=fields.texts("performance_measures", required=True),
        types=tuple(kind.lower() for kind in fields.texts("performance_type", required=True)),
        cutoff=_cutoff(fields),
        steps=_steps(fields),
        algorithms=tuple(algorithms.nodes) if algorithms else (),
        maximise=tuple(text.lower() == "true" for text in fields.texts("maximize")),
    )
    n = len(description.measures)
    if description.types and len(description.types) != n:
        message = f"expected one per performance measure ({n}), got {len(description.types)}"
        fields.error("performance_type", message)
    for kind in description.types:
        if kind not in (RUNTIME, QUALITY):
            fields.error("performance_type", f"expected runtime or solution_quality, got {shown(kind)}")
    if len(problems.errors) == before and description.types[0] != (measured or description.types[0]):
        problems.not_runtime = measured == RUNTIME
        is_of = f"the first measure, {description.measures[0]}, is of type {description.types[0]}"
        fields.error("performance_type", f"{is_of}; {_WANTED[measured or RUNTIME]}")
    elif len(problems.errors) == before and measured == RUNTIME and not 0.0 < description.cutoff < math.inf:
        message = f"expected a finite number of seconds > 0, got {description.cutoff:g}"
        fields.error("algorithm_cutoff_time", message)
    if len(problems.errors) > before:
        raise UnusableFileError
    return description


def _compose(text: str, problems: Problems) -> Node:
    """Return the node of the whole file, or give up after noting why it cannot be read."""
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
                problems.give_up(FILE, line, None, f"*{event.anchor} refers to nothing")
            anchors.add(getattr(event, "anchor", None))
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEPTH:
                problems.give_up(FILE, line, None, f"nested deeper than {DEPTH} levels")
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        problems.give_up(FILE, mark.line + 1 if mark else None, None, f"not valid YAML: {reason}")
    if root is None:
        problems.give_up(FILE, None, None, "is empty")
    return root


def _line(node: Node) -> int:
    line: int = node.start_mark.line + 1
    return line


class _Fields:
    """The nodes of a mapping by name; errors name the line and the field."""

    def __init__(self, mapping: Node, place: str | None, expected: str, problems: Problems) -> None:
        self.problems, self.place = problems, place
        self.nodes: dict[str, Node] = {}
        if mapping.id != "mapping":
            problems.error(FILE, _line(mapping), place, expected)
            return
        for key, value in mapping.value:
            if key.id != "scalar":
                problems.error(FILE, _line(key), None, "expected a field name, got a list or mapping")
            elif key.value in self.nodes:
                problems.error(FILE, _line(key), None, f"field {shown(key.value)} is given twice")
            else:
                self.nodes[key.value] = value

    def error(self, field: str, message: str) -> None:
        node = self.nodes.get(field)
        place = f"{self.place}.{field}" if self.place else field
        self.problems.error(FILE, _line(node) if node else None, place, message)

    def text(self, field: str) -> str:
        node = self.nodes.get(field)
        if node is None or node.value in ("", "null"):
            self.error(field, "this field is missing")
        elif node.id != "scalar":
            self.error(field, "expected one value, got a list or mapping")
        else:
            return str(node.value)
        return ""

    def texts(self, field: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a field's list of texts; a single text is a list of one."""
        node = self.nodes.get(field)
        texts: tuple[str, ...] = ()
        if node is not None and node.id == "scalar":
            texts = () if node.value.lower() in _NOTHING else (node.value,)
        elif node is not None:
            items = node.value if node.id == "sequence" else [node]
            texts = tuple(item.value for item in items if item.id == "scalar")
            if len(texts) != len(items):
                self.error(field, "expected a list of names")
                return ()
        if required and not texts:
            self.error(field, "this field is missing")
        return texts


def _cutoff(fields: _Fields) -> float:
    text = fields.text("algorithm_cutoff_time")
    if text in _NOTHING:
        return math.nan
    try:
        return float(text)
    except ValueError:
        fields.error("algorithm_cutoff_time", f"expected a number of seconds, got {shown(text)}")
        return math.nan


def _steps(fields: _Fields) -> tuple[Step, ...]:
    problems, node = fields.problems, fields.nodes.get("feature_steps")
    if node is None or node.value in ("", "null", "?"):
        problems.warning(FILE, None, "feature_steps", "no feature steps are described")
        return ()
    described = _Fields(node, "feature_steps", "expected step names, each with 'provides'", problems).nodes
    defaults = fields.texts("default_steps")
    steps = []
    for name, content in described.items():
        parts = _Fields(content, f"feature_steps.{name}", "expected 'provides' and 'requires'", problems)
        if content.id == "mapping":
            default = name in defaults or "default_steps" not in fields.nodes
            steps.append(Step(name, parts.texts("provides"), parts.texts("requires"), default))
    required = [(f"feature_steps.{step.name}.requires", step.requires) for step in steps]
    for place, names in [("default_steps", defaults), *required] if node.id == "mapping" else ():
        for name in names:
            if name not in {step.name for step in steps}:
                problems.warning(FILE, None, place, f"names {shown(name)}, which is not a feature step")
    return tuple(steps)
