"""CP-SAT on a model in FlatZinc: each standard constraint becomes one or more of CP-SAT's."""

from __future__ import annotations

from typing import Any

from tailcut.domains.csp.flatzinc import FlatModel, Var
from tailcut.errors import InputError

Solution = dict[str, int | bool]


class CpSat:
    """Builds the model of CP-SAT and asks it."""

    def __init__(self, flat: FlatModel) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.flat, self.model = cp_model, flat, cp_model.CpModel()
        self.of: dict[str, Any] = {}
        for name, domain in flat.domains.items():
            if domain is None:
                self.of[name] = self.model.new_bool_var(name)
            elif isinstance(domain, range):
                self.of[name] = self.model.new_int_var(domain.start, domain.stop - 1, name)
            else:
                values = cp_model.Domain.from_values(sorted(domain))
                self.of[name] = self.model.new_int_var_from_domain(values, name)
        for constraint in flat.constraints:
            self._post(constraint.name, [self._value(one) for one in constraint.arguments])

    def solve(self) -> tuple[str, Solution]:
        """Return the status, in words of MiniZinc, and a solution if there is one."""
        if self.flat.objective is not None:
            objective = self._value(self.flat.objective)
            (self.model.minimize if self.flat.goal == "minimize" else self.model.maximize)(objective)
        solver = self.cp.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return "=====UNSATISFIABLE=====", {}
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return "=====UNKNOWN=====", {}
        found = {
            name: bool(solver.value(one)) if self.flat.domains[name] is None else int(solver.value(one))
            for name, one in self.of.items()
        }
        return "==========" if status == self.cp.OPTIMAL else "", found

    def _value(self, given: Any) -> Any:
        if isinstance(given, Var):
            if given.name not in self.of:
                raise InputError(f"the model names {given.name}, which is not declared")
            return self.of[given.name]
        if isinstance(given, list):
            return [self._value(one) for one in given]
        return given

    def _post(self, name: str, a: list[Any]) -> None:
        base, reified = (name[:-5], True) if name.endswith("_reif") else (name, False)
        if reified and base not in ("bool_clause", "array_bool_and"):
            truth = a.pop()
            relation = self._relation(base, a)
            if relation is not None:
                self._when(relation[0], truth, wanted=True)
                self._when(relation[1], truth, wanted=False)
                return
            a.append(truth)
        relation = self._relation(base, a) if not reified else None
        if relation is not None:
            self._when(relation[0], True, wanted=True)
        else:
            self._function(name, a)

    def _when(self, bounded: Any, truth: Any, *, wanted: bool) -> None:
        """Require a relation if a truth value is as wanted."""
        if isinstance(truth, bool | int):
            if bool(truth) == wanted:
                self.model.add(bounded)
        else:
            self.model.add(bounded).only_enforce_if(truth if wanted else truth.negated())

    def _relation(self, name: str, a: list[Any]) -> tuple[Any, Any] | None:
        """Return a linear relation and its opposite; None if the constraint is none."""
        kind, _, relation = name.rpartition("_")
        if kind in ("int_lin", "bool_lin"):
            left, right = sum(c * x for c, x in zip(a[0], a[1], strict=True)), a[2]
        elif kind in ("int", "bool") and len(a) == 2 and relation in ("eq", "ne", "le", "lt", "not"):
            left, right = 1 * self._int(a[0]), a[1]
        elif name in ("equal", "bool2int"):
            left, right, relation = 1 * self._int(a[0]), a[1], "eq"
        elif name == "bool_xor" and len(a) == 2:
            left, right, relation = 1 * self._int(a[0]), a[1], "ne"
        elif name == "set_in":
            return self._membership(a[0], a[1])
        else:
            return None
        if isinstance(left, int):
            left = self.model.new_constant(left)
        right = int(right) if isinstance(right, bool) else right
        match relation:
            case "eq":
                return left == right, left != right
            case "ne" | "not":
                return left != right, left == right
            case "le":
                return left <= right, left > right
            case "lt":
                return left < right, left >= right
        return None

    def _membership(self, x: Any, values: range | frozenset[int]) -> tuple[Any, Any]:
        inside = self.cp.Domain.from_values(sorted(values))
        if isinstance(values, range):
            inside = self.cp.Domain(values.start, values.stop - 1)
        one = self._int(x)
        if isinstance(one, int):
            one = self.model.new_constant(one)
        expression = self.cp.BoundedLinearExpression
        return expression(one, inside), expression(one, inside.complement())

    @staticmethod
    def _int(value: Any) -> Any:
        return int(value) if isinstance(value, bool) else value

    def _negated(self, value: Any) -> Any:
        return (not value) if isinstance(value, bool) else value.negated()

    def _function(self, name: str, a: list[Any]) -> None:
        """Add a constraint that defines a value by others."""
        m = self.model
        match name:
            case "int_plus":
                m.add(a[0] + a[1] == a[2])
            case "int_times":
                m.add_multiplication_equality(a[2], [a[0], a[1]])
            case "int_div":
                m.add_division_equality(a[2], a[0], a[1])
            case "int_mod":
                m.add_modulo_equality(a[2], a[0], a[1])
            case "int_abs":
                m.add_abs_equality(a[1], a[0])
            case "int_max":
                m.add_max_equality(a[2], [a[0], a[1]])
            case "int_min":
                m.add_min_equality(a[2], [a[0], a[1]])
            case "array_int_maximum":
                m.add_max_equality(a[0], a[1])
            case "array_int_minimum":
                m.add_min_equality(a[0], a[1])
            case (
                "array_int_element"
                | "array_var_int_element"
                | "array_bool_element"
                | "array_var_bool_element"
            ):
                m.add_element(a[0] - 1, [self._int(one) for one in a[1]], self._int(a[2]))
            case "bool_clause":
                m.add_bool_or([*a[0], *map(self._negated, a[1])])
            case "bool_clause_reif":
                self._disjunction([*a[0], *map(self._negated, a[1])], a[2])
            case "array_bool_or" | "bool_or":
                self._disjunction(a[0] if name.startswith("array") else a[:2], a[-1])
            case "array_bool_and" | "bool_and" | "array_bool_and_reif":
                every = a[0] if name.startswith("array") else a[:2]
                self._disjunction([self._negated(one) for one in every], self._negated(a[-1]))
            case "array_bool_xor":
                m.add_bool_xor(a[0])
            case "bool_xor":
                m.add_bool_xor([a[0], a[1], self._negated(a[2])])
            case _:
                raise InputError(f"CP-SAT is not given the constraint {name} here")

    def _disjunction(self, literals: list[Any], truth: Any) -> None:
        """Require that a truth value says whether one of some literals holds."""
        self.model.add_bool_or([*literals, self._negated(truth)])
        for one in literals:
            self.model.add_bool_or([self._negated(one), truth])
