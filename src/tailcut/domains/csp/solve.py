"""The program that solves one model: ``python -m tailcut.domains.csp.solve SOLVER [PROGRAM] FILE``.

FILE is a MiniZinc model (.mzn), data for the only model beside it (.dzn), or FlatZinc (.fzn). MiniZinc
flattens with its standard library, so that every solver gets the same constraints. It prints the best
solution, ``NAME = VALUE;``, and ``_objective``, then ``----------`` and, if it is optimal, ``==========``; or
``=====UNSATISFIABLE=====``.
"""

from __future__ import annotations

import operator
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tailcut.domains.domain import find_program
from tailcut.domains.programs import ScratchFile, entry_point, needs_extra, print_answer, run
from tailcut.errors import InputError, MissingExtraError


def solved(solver: str, program: str | None, file: Path, *more: Path | str) -> str:
    """Return what a solver prints on a model; `more` are further files for MiniZinc."""
    if file.suffix == ".fzn":
        return _answered(solver, program, file.read_bytes())
    with ScratchFile() as flat, ScratchFile() as output:
        options = ["-c", "-G", "std", "--output-mode", "dzn", "--output-objective", "-o", flat.path]
        command = [_minizinc(), *options, "--ozn", output.path, *map(str, (*model_files(file), *more))]
        ended = run(command, flat, output, stderr=subprocess.PIPE)
        printed, complaints = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
        if ended.returncode or "=====ERROR=====" in printed:
            lines = (complaints or printed).strip().splitlines() or ["nothing"]
            raise InputError(f"{file}: MiniZinc says: {next((x for x in lines if 'rror' in x), lines[0])}")
        if "=====UNSATISFIABLE=====" in printed + complaints:
            return "=====UNSATISFIABLE=====\n"
        said = _answered(solver, program, flat.read())
        if "----------" not in said:
            return said
        command = [_minizinc(), "--ozn-file", output.path]
        formatted = run(command, flat, output, input=said.encode(), stderr=subprocess.PIPE)
        return formatted.stdout.decode("utf-8", "replace")


def model_files(file: Path) -> list[Path]:
    if file.suffix != ".dzn":
        return [file]
    models = sorted(file.parent.glob("*.mzn"))
    if len(models) != 1:
        raise InputError(f"{file}: its model must be the only .mzn file beside it, there are {len(models)}")
    return [models[0], file]


def _minizinc() -> str:
    program = find_program("minizinc")
    if program is None:
        raise MissingExtraError("models are flattened by MiniZinc: apt install minizinc")
    return program


def _answered(solver: str, program: str | None, flat: bytes) -> str:
    if program is not None:
        with ScratchFile(flat) as file:
            return run([program, file.path], file).stdout.decode("utf-8", "replace")
    if solver != "cp-sat":
        raise InputError(f"{solver} is a program: expected SOLVER PROGRAM FILE")
    with needs_extra("CP-SAT", "csp"):
        return CpSat(parse_flatzinc(flat.decode("utf-8", "replace"))).solve()


# Reading FlatZinc. Names are looked up meanwhile: an argument is a number, a truth value, a `Var`, a range or
# set of integers (`frozenset` or `range`), a text, or a list of these.

_TOKEN = re.compile(r'"[^"]*"|-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+|[A-Za-z_]\w*|\.\.|::|[\[\](){},;:=]')
_WIDEST = 2**31 - 1
"""Bounds of an integer that has none."""


class Var(NamedTuple):
    name: str


class Constraint(NamedTuple):
    name: str
    arguments: list[Any]


@dataclass
class FlatModel:
    """A model in FlatZinc; what it holds of each variable is its domain, or None for a truth value."""

    domains: dict[str, range | frozenset[int] | None] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """What names stand for: arrays, and variables that are equal to something."""
    outputs: dict[str, list[range] | None] = field(default_factory=dict)
    """What is to be printed; the index sets of an array."""
    constraints: list[Constraint] = field(default_factory=list)
    goal: str = "satisfy"
    objective: Any = None


def parse_flatzinc(text: str, name: str = "model") -> FlatModel:
    """Return the model of a FlatZinc text; floats and set variables are refused."""
    model = FlatModel()
    for number, line in enumerate(text.splitlines(), 1):
        words = _TOKEN.findall(line)
        if not words or line.lstrip().startswith("%"):
            continue
        try:
            _Statement(words, model).read()
        except (IndexError, KeyError, ValueError) as error:
            raise InputError(f"{name}, line {number}: cannot be read as FlatZinc: {error}") from None
    return model


class _Statement:
    def __init__(self, words: list[str], model: FlatModel) -> None:
        self.words, self.model, self.at = words, model, 0

    def _next(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def _is(self, word: str) -> bool:
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def read(self) -> None:
        first = self._next()
        match first:
            case "predicate":
                return
            case "constraint":
                called = self._next()
                self._next()
                self.model.constraints.append(Constraint(called, self._list(")")))
            case "solve":
                self._annotations()
                self.model.goal = self._next()
                if self.model.goal != "satisfy":
                    self.model.objective = self._value()
            case _:
                self._declaration(array=first == "array")

    def _declaration(self, *, array: bool) -> None:
        if array:
            while not self._is("of"):
                self.at += 1
        else:
            self.at -= 1
        declared = self._is("var") and not array
        kind = self._type()
        self._next()  # the colon
        name = self._next()
        if declared:
            self.model.domains[name] = kind
        for called, arguments in self._annotations():
            if called == "output_var":
                self.model.outputs[name] = None
            elif called == "output_array":
                self.model.outputs[name] = [range(one.start, one.stop) for one in arguments[0]]
        if self._is("="):
            value = self._value()
            if declared:
                self.model.constraints.append(Constraint("equal", [Var(name), value]))
            else:
                self.model.values[name] = value

    def _type(self) -> range | frozenset[int] | None:
        first = self._next()
        if first == "bool":
            return None
        if first == "int":
            return range(-_WIDEST, _WIDEST + 1)
        if first == "set":
            self._next()  # of
            return self._type()
        if first == "{":
            return frozenset(self._list("}"))
        low = int(first)
        self._next()
        return range(low, int(self._next()) + 1)

    def _annotations(self) -> list[tuple[str, list[Any]]]:
        found = []
        while self._is("::"):
            called = self._next()
            found.append((called, self._list(")") if self._is("(") else []))
        return found

    def _list(self, end: str) -> list[Any]:
        found = []
        while not self._is(end):
            found.append(self._value())
            self._is(",")
        return found

    def _value(self) -> Any:
        first = self._next()
        if first == "[":
            return self._list("]")
        if first == "{":
            return frozenset(self._list("}"))
        if first in ("true", "false"):
            return first == "true"
        if first.startswith('"'):
            return first
        if re.fullmatch(r"-?\d+", first):
            if self._is(".."):
                return range(int(first), int(self._next()) + 1)
            return int(first)
        if re.match(r"-?\d", first):
            raise ValueError(f"{first}: numbers must be whole here")
        if self._is("("):  # a call within an annotation
            return self._list(")")
        return self.model.values[first] if first in self.model.values else Var(first)


_EQUALITIES: dict[str, tuple[str, int, Callable[[list[Any]], list[Any]]]] = {
    "int_times": ("multiplication", 2, lambda a: [a[:2]]),
    "int_div": ("division", 2, lambda a: a[:2]),
    "int_mod": ("modulo", 2, lambda a: a[:2]),
    "int_abs": ("abs", 1, lambda a: a[:1]),
    "int_max": ("max", 2, lambda a: [a[:2]]),
    "int_min": ("min", 2, lambda a: [a[:2]]),
    "array_int_maximum": ("max", 0, lambda a: [a[1]]),
    "array_int_minimum": ("min", 0, lambda a: [a[1]]),
}
"""Constraint -> CP-SAT's equality, which argument is its result, and what it is of."""
_RELATIONS = {
    "eq": (operator.eq, operator.ne),
    "ne": (operator.ne, operator.eq),
    "not": (operator.ne, operator.eq),
    "le": (operator.le, operator.gt),
    "lt": (operator.lt, operator.ge),
}
"""How names of constraints end -> what they require, and the opposite."""


class CpSat:
    """CP-SAT on a model in FlatZinc: each standard constraint becomes one or more of CP-SAT's."""

    def __init__(self, flat: FlatModel) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.flat, self.model = cp_model, flat, cp_model.CpModel()
        self.variables: dict[str, Any] = {}
        for name, domain in flat.domains.items():
            if domain is None:
                self.variables[name] = self.model.new_bool_var(name)
            elif isinstance(domain, range):
                self.variables[name] = self.model.new_int_var(domain.start, domain.stop - 1, name)
            else:
                values = cp_model.Domain.from_values(sorted(domain))
                self.variables[name] = self.model.new_int_var_from_domain(values, name)
        for constraint in flat.constraints:
            self._post(constraint.name, [self._value(a) for a in constraint.arguments])

    def solve(self) -> str:
        """Return what is found, as a FlatZinc solver prints it: for MiniZinc to format."""
        if self.flat.objective is not None:
            objective = self._value(self.flat.objective)
            (self.model.minimize if self.flat.goal == "minimize" else self.model.maximize)(objective)
        solver = self.cp.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return "=====UNSATISFIABLE=====\n"
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return "=====UNKNOWN=====\n"

        def text(item: Any) -> str:
            if isinstance(item, Var):
                value = solver.value(self.variables[item.name])
                item = bool(value) if self.flat.domains[item.name] is None else value
            return str(item).lower()

        lines = []
        for name, sets in self.flat.outputs.items():
            if sets is None:
                lines.append(f"{name} = {text(Var(name))};")
            else:
                ranges = ",".join(f"{indices.start}..{indices.stop - 1}" for indices in sets)
                values = ",".join(map(text, self.flat.values[name]))
                lines.append(f"{name} = array{len(sets)}d({ranges},[{values}]);")
        ends = ["----------", "=========="] if status == self.cp.OPTIMAL else ["----------"]
        return "\n".join([*lines, *ends, ""])

    def _value(self, given: Any) -> Any:
        if isinstance(given, Var):
            if given.name not in self.variables:
                raise InputError(f"the model names {given.name}, which is not declared")
            return self.variables[given.name]
        if isinstance(given, list):
            return [self._value(item) for item in given]
        return given

    def _post(self, name: str, a: list[Any]) -> None:
        base = name.removesuffix("_reif")
        relation = self._relation(base, a if base == name else a[:-1])
        if relation is None:
            self._function(name, a)
        elif base == name:
            self.model.add(relation[0])
        elif isinstance(a[-1], int):
            self.model.add(relation[0] if a[-1] else relation[1])
        else:
            self.model.add(relation[0]).only_enforce_if(a[-1])
            self.model.add(relation[1]).only_enforce_if(a[-1].negated())

    def _relation(self, name: str, a: list[Any]) -> tuple[Any, Any] | None:
        """Return a linear relation and its opposite; None if the constraint is none."""
        kind, _, relation = name.rpartition("_")
        if kind in ("int_lin", "bool_lin"):
            left, right = sum(c * x for c, x in zip(a[0], a[1], strict=True)), a[2]
        elif name in ("equal", "bool2int"):
            left, right, relation = a[0], a[1], "eq"
        elif name == "bool_xor" and len(a) == 2:
            left, right, relation = a[0], a[1], "ne"
        elif name == "set_in":
            return self._membership(a[0], a[1])
        elif kind in ("int", "bool") and len(a) == 2:
            left, right = a
        else:
            return None
        if relation not in _RELATIONS:
            return None
        holds, fails = _RELATIONS[relation]
        left, right = self._expression(left), _whole(right)
        return holds(left, right), fails(left, right)

    def _membership(self, x: Any, values: range | frozenset[int]) -> tuple[Any, Any]:
        inside = self.cp.Domain.from_values(sorted(values))
        if isinstance(values, range):
            inside = self.cp.Domain(values.start, values.stop - 1)
        expression = self.cp.BoundedLinearExpression
        value = self._expression(x)
        return expression(value, inside), expression(value, inside.complement())

    def _expression(self, value: Any) -> Any:
        return self.model.new_constant(int(value)) if isinstance(value, int) else 1 * value

    def _negated(self, value: Any) -> Any:
        return (not value) if isinstance(value, bool) else value.negated()

    def _function(self, name: str, a: list[Any]) -> None:
        m = self.model
        array = name.startswith("array")
        match name:
            case _ if name in _EQUALITIES:
                method, result, arguments = _EQUALITIES[name]
                getattr(m, f"add_{method}_equality")(a[result], *arguments(a))
            case "int_plus":
                m.add(a[0] + a[1] == a[2])
            case _ if re.fullmatch("array_(var_)?(int|bool)_element", name):
                m.add_element(a[0] - 1, [*map(_whole, a[1])], _whole(a[2]))
            case "bool_clause":
                m.add_bool_or([*a[0], *map(self._negated, a[1])])
            case "bool_clause_reif":
                self._disjunction([*a[0], *map(self._negated, a[1])], a[2])
            case "array_bool_or" | "bool_or":
                self._disjunction(a[0] if array else a[:2], a[-1])
            case "array_bool_and" | "bool_and" | "array_bool_and_reif":
                self._disjunction(list(map(self._negated, a[0] if array else a[:2])), self._negated(a[-1]))
            case "array_bool_xor":
                m.add_bool_xor(a[0])
            case "bool_xor":
                m.add_bool_xor([a[0], a[1], self._negated(a[2])])
            case _:
                raise InputError(f"CP-SAT is not given the constraint {name} here")

    def _disjunction(self, literals: list[Any], truth: Any) -> None:
        """Require that a truth value says whether one of some literals holds."""
        self.model.add_bool_or([*literals, self._negated(truth)])
        for literal in literals:
            self.model.add_bool_or([self._negated(literal), truth])


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _answer(solver: str, program: str | None, file: str) -> tuple[bytes, int]:
    return solved(solver, program, Path(file)).encode(), 0


main = entry_point(__name__, print_answer, _answer)
