"""YAML as nodes that know their line.

The events of PyYAML's parser are put together here, for three reasons: every value keeps its line, names
such as ``no`` or ``1e3`` stay text, and nesting is limited (PyYAML's own composer ends the whole
process on a file that opens a million lists).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from tailcut.errors import MissingExtraError
from tailcut.scenarios.problems import Problems, shown

DEPTH = 20
"""How deep lists and mappings may be nested; ASlib descriptions need four levels."""


@dataclass(frozen=True, slots=True)
class Node:
    """A text, list or mapping, with the line it starts on."""

    line: int
    value: str | list[Node] | dict[str, Node]


def yaml_module() -> Any:
    """Return PyYAML, or say how to install it."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtraError(
            "reading and writing ASlib scenarios needs PyYAML: pip install 'tailcut[aslib]'"
        ) from None
    return yaml


def tree(text: str, file: str, problems: Problems) -> Node | None:
    r"""Return the whole text as nodes, or None after noting why it cannot be read.

    >>> tree("a:\n- no", "f", Problems()).value["a"].value[0]
    Node(line=2, value='no')
    """
    yaml = yaml_module()
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    builder = _Builder(yaml)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        problems.error(file, mark.line + 1 if mark else None, None, f"not valid YAML: {reason}")
        return None
    except _UnusableError as stop:
        problems.error(file, stop.line, None, stop.message)
        return None
    if builder.root is None:
        problems.error(file, None, None, "is empty")
    return builder.root


class _UnusableError(Exception):
    """The text is valid YAML, but not what a description may hold."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class _Builder:
    """Puts nodes together from the parser's events, without recursion."""

    def __init__(self, yaml: Any) -> None:
        self.yaml = yaml
        self.root: Node | None = None
        self.open: list[Node] = []
        self.keys: list[str | None] = []
        """For each open mapping, the key whose value comes next; None for lists."""
        self.anchors: dict[str, Node] = {}

    def take(self, event: Any) -> None:
        """Take the next event."""
        yaml = self.yaml
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self.place(Node(line, event.value), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                self.stop(line, f"*{event.anchor} refers to nothing")
            self.place(Node(line, self.anchors[event.anchor].value), None)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            node = Node(line, [] if isinstance(event, yaml.SequenceStartEvent) else {})
            self.place(node, event.anchor)
            self.open.append(node)
            self.keys.append(None)
            if len(self.open) > DEPTH:
                self.stop(line, f"nested deeper than {DEPTH} levels")
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self.open.pop()
            self.keys.pop()

    def place(self, node: Node, anchor: str | None) -> None:
        """Put a node where it belongs: into the open list, under the open key, or at the root."""
        if anchor:
            self.anchors[anchor] = node
        if not self.open:
            if self.root is not None:
                self.stop(node.line, "a second document starts here")
            self.root = node
            return
        parent = self.open[-1].value
        if isinstance(parent, list):
            parent.append(node)
        elif isinstance(parent, dict):
            self.place_in_mapping(parent, node)

    def place_in_mapping(self, parent: dict[str, Node], node: Node) -> None:
        """Take the node as a key, or as the value of the key that came before."""
        key = self.keys[-1]
        if key is not None:
            parent[key] = node
            self.keys[-1] = None
        elif not isinstance(node.value, str):
            self.stop(node.line, "expected a field name, got a list or mapping")
        elif node.value in parent:
            self.stop(node.line, f"field {shown(node.value)} is given twice")
        else:
            self.keys[-1] = node.value

    def stop(self, line: int, message: str) -> NoReturn:
        """Give the text up."""
        raise _UnusableError(line, message)
