"""The bundled domain: satisfiability, with solvers that come as wheels and formulas that are generated.

A formula (`cnf`) is answered by one of the `arms` (`solve` is the program), described by `features`, and
made by `generators`. Nothing here knows of selection: these are programs, files and tables.
"""
