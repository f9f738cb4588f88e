"""ASlib scenarios: recorded runs of algorithms on instances, read, validated, written and fetched.

`Scenario.read` is the door; the files' way through this package is arff, description -> tables -> reader.
"""

from tailcut.scenarios.cells import STATUSES
from tailcut.scenarios.problems import Problem
from tailcut.scenarios.scenario import FeatureStep, Scenario
from tailcut.scenarios.validate import validate

__all__ = ["STATUSES", "FeatureStep", "Problem", "Scenario", "validate"]
