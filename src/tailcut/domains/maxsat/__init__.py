"""The domain ``maxsat``: maximum satisfiability, formulas in WCNF, old format and new."""

from tailcut.domains.domain import bundled

DOMAIN = bundled("maxsat")
