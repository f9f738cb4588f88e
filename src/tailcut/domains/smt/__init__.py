"""The domain ``smt``: satisfiability modulo theories, scripts in SMT-LIB 2."""

from tailcut.domains.domain import bundled

DOMAIN = bundled("smt")
