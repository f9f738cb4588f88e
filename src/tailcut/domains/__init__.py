"""Domains: solvers, features, answers and checkers of one kind of problem, one folder each."""
