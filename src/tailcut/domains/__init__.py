"""Domains: solvers, features, answers and checkers of one kind of problem, one folder each.

A folder here is a domain, found by its name. It describes itself as `DOMAIN` in its `__init__.py`, which
imports nothing heavy; nothing else needs to know of it.

>>> domain_names()
['sat']
>>> [rule.answer for rule in find_domain("sat").answers]
['SATISFIABLE', 'UNSATISFIABLE']
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tailcut.domains.domain import Domain
from tailcut.errors import InputError

__all__ = ["Domain", "domain_names", "find_domain"]


def domain_names() -> list[str]:
    """Return the names of the domains there are."""
    return sorted(module.name for module in iter_modules(__path__) if module.ispkg)


def find_domain(name: str) -> Domain:
    """Return the domain of a name, or say which there are."""
    known = domain_names()
    if name not in known:
        raise InputError(f"there is no domain {name!r}; there are {', '.join(known)}")
    domain: Domain = import_module(f"{__name__}.{name}").DOMAIN
    return domain
