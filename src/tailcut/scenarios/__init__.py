"""ASlib scenarios: recorded runs of algorithms on instances, read, checked, written and fetched.

`Scenario.read` is the entry point; the files' way through this package is

    arff, description -> columns -> run_table, tables -> aslib_reader
"""

from tailcut.scenarios.aslib_reader import check_scenario
from tailcut.scenarios.columns import STATUSES
from tailcut.scenarios.problems import Problem
from tailcut.scenarios.quality import QualityScenario
from tailcut.scenarios.scenario import FeatureStep, Scenario

__all__ = ["STATUSES", "FeatureStep", "Problem", "QualityScenario", "Scenario", "check_scenario"]
