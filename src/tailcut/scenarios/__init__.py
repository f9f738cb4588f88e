"""ASlib scenarios: recorded runs of algorithms on instances, read, checked, written and fetched.

`Scenario.read` is the entry point; the files' way through this package is

    arff, description -> aslib_reader -> frames
"""

from tailcut.scenarios.arff import STATUSES, Problem
from tailcut.scenarios.aslib_reader import check_scenario
from tailcut.scenarios.scenario import FeatureStep, QualityScenario, Scenario

__all__ = ["STATUSES", "FeatureStep", "Problem", "QualityScenario", "Scenario", "check_scenario"]
