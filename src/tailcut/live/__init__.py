"""Live: real solvers on real instances, under limits, chosen online.

instances.py   which files there are to solve
portfolio.py   which solvers there are (a TOML file), with what a domain adds
limits/        programs run under limits of CPU time, wall time and memory
asking.py      what the programs say: features, answers, whether an answer stands
engine.py      one instance from its features to its answer, every step in the journal
work.py        many of them at once
measure.py     every solver on every instance, as a scenario
"""
