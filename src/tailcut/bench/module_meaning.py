"""The meaning of a module: hashes of its syntax tree without docstrings, imports and error texts."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class ModuleImport(NamedTuple):
    """`alias` stands for `name` of `module`, or for the module itself where that is None."""

    alias: str
    module: str
    name: str | None


@dataclass
class ModuleMeaning:
    """The meaning of a module, as hashes."""

    named: dict[str, str] = field(default_factory=dict)
    """Name -> hash of the statements that bind it."""
    effects: str = ""
    """Hash of the statements that bind nothing."""
    imports: list[ModuleImport] = field(default_factory=list)
    passed_on: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Imported at the top, or on demand and shown to type checkers only: name -> where it comes from."""

    @property
    def statements(self) -> list[str]:
        """All hashes, each with its name."""
        return [self.effects, *(f"{name} {digest}" for name, digest in self.named.items())]


@lru_cache(maxsize=512)
def read_meaning(file: Path, name: str, _changed: int) -> ModuleMeaning:
    """Return what the module `name` in `file` means; kept until the file changes.

    The meaning of a compiled module is its whole file, source or machine code.
    """
    if file.suffix != ".py":
        return ModuleMeaning(effects=hashlib.sha256(file.read_bytes()).hexdigest())
    tree = ast.parse(file.read_bytes(), filename=str(file))
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    module = ModuleMeaning()
    module.passed_on = {
        one.alias: (one.module, one.name) for node in _flat(tree.body) for one in _imports(node, package)
    }
    tree = _WithoutTypeChecking().visit(tree)
    module.imports = [one for node in ast.walk(tree) for one in _imports(node, package)]
    dumps: dict[str, list[str]] = {}
    for statement in _Meaning().visit(tree).body:
        dump = ast.dump(statement)
        for bound in _binds(statement) or [""]:
            dumps.setdefault(bound, []).append(dump)
    digests = {key: hashlib.sha256("\n".join(found).encode()).hexdigest() for key, found in dumps.items()}
    module.effects = digests.pop("", "")
    module.named = digests
    return module


def _imports(node: ast.AST, package: str) -> Iterator[ModuleImport]:
    if isinstance(node, ast.Import):
        for one in node.names:
            whole = one.name if one.asname else one.name.partition(".")[0]
            yield ModuleImport(one.asname or whole, one.name, None)
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            origin = importlib.util.resolve_name("." * node.level + origin, package)
        for one in node.names:
            yield ModuleImport(one.asname or one.name, origin, None if one.name == "*" else one.name)


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module's top level, those within its conditions too."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            if isinstance(statement, ast.If | ast.Try | ast.With):
                yield from _flat(getattr(statement, name, []))


def _binds(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of the top level binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If | ast.Try | ast.With):
        return []
    stored = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _is_stored(node))
    defined = (one.name for one in _flat([statement]) if isinstance(one, ast.FunctionDef | ast.ClassDef))
    return list(dict.fromkeys([*stored, *defined]))


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


class _WithoutTypeChecking(ast.NodeTransformer):
    """Drops what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.If | None:
        """Drop `if TYPE_CHECKING:`."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        self.generic_visit(node)
        return node


class _Meaning(ast.NodeTransformer):
    """Drops what does not affect a program's meaning: docstrings, imports, `__all__`, error texts."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop strings that stand for themselves."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        self.generic_visit(node)
        return node

    def visit_Import(self, _node: ast.Import) -> None:
        """Drop it: what it brings is followed."""

    def visit_ImportFrom(self, _node: ast.ImportFrom) -> None:
        """Drop it: what it brings is followed."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        """Drop `__all__`."""
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            return None
        self.generic_visit(node)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """Keep the type of an error, not its text."""
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(exc=raised, cause=None)
