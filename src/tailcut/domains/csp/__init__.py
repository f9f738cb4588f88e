"""The domain ``csp``: constraint satisfaction and optimisation, models in MiniZinc or FlatZinc.

MiniZinc flattens a model with its standard decompositions; Gecode and CP-SAT solve the result.
"""

from tailcut.domains.domain import bundled

DOMAIN = bundled("csp")
