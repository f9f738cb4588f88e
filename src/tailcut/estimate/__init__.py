"""Estimates what each single solver would have cost on the instances of a run, from its journal.

outcome_table.py   what is known about every solver on every instance; bounds that need no model
feature_basis.py   a few coordinates of an instance
survival_model.py  how long solvers take: draws of all that was not observed
single_solvers.py  the estimate, with its interval; read off a journal
"""
