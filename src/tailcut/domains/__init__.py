"""Domains: solvers, features, answers and verifiers; one folder for each kind of problem.

A folder here is a domain, found by its name. It describes itself in its `domain.toml`, which its
`__init__.py` reads as `DOMAIN`; nothing else needs to know of it. Packages that are installed offer domains
of their own by entry points of the group `tailcut.domains`: a name, and the `Domain`
(docs/reference/domains.md).

>>> "sat" in domain_names()
True
>>> [rule.answer for rule in find_domain("sat").answers]
['SATISFIABLE', 'UNSATISFIABLE']
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from tailcut.domains.domain import Domain
from tailcut.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = ["ENTRY_POINTS", "Domain", "domain_names", "find_domain"]

ENTRY_POINTS = "tailcut.domains"
"""The entry-point group through which installed packages offer domains: name -> `Domain`."""


def domain_names() -> list[str]:
    return sorted({*_folders(), *_offered().names})


def find_domain(name: str) -> Domain:
    """Return the domain of a name; raise if there is none."""
    if name in _folders():
        domain: Domain = import_module(f"{__name__}.{name}").DOMAIN
        return domain
    offered = _offered()
    if name not in offered.names:
        names = domain_names()
        raise InputError(
            f"there is no domain {name!r}; there are {', '.join(names)}{did_you_mean(name, names)}"
        )
    point = offered[name]
    try:
        loaded = point.load()
    except Exception as error:  # third-party code may raise anything
        raise InputError(f"the domain {name!r} ({point.value}) cannot be loaded: {error}") from error
    if not isinstance(loaded, Domain):
        raise InputError(f"the domain {name!r} ({point.value}) must be a Domain, got {loaded!r}")
    return loaded


def _folders() -> list[str]:
    return [module.name for module in iter_modules(__path__) if module.ispkg]


def _offered() -> EntryPoints:
    from importlib.metadata import entry_points  # most of the time that importing this package would take

    return entry_points(group=ENTRY_POINTS)
