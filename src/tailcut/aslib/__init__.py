"""ASlib scenarios: recorded runs of algorithms on instances, read, validated, written and fetched.

`Scenario.read` is the door; the files' way through this package is arff, description -> tables -> reader.
"""

from tailcut.aslib.cells import STATUSES
from tailcut.aslib.problems import Problem
from tailcut.aslib.scenario import FeatureStep, Scenario
from tailcut.aslib.validate import validate

__all__ = ["STATUSES", "FeatureStep", "Problem", "Scenario", "validate"]
