"""The published table, the switches that reproduce it, and the comparison.

This code is separate from the core on purpose: it follows the published experiment, including its errors, and
is not meant for reuse. `tailcut.catalogue` has the same approaches by the paper's formulas.

    `experiment` (data, approaches, seeds, order, PAR10) -> `published` (verdicts);
    `replicate_folder` does all of it
"""

from tailcut.replication.experiment import PAPER, PUBLISHED, ExperimentData, Switches, approach, evaluate
from tailcut.replication.published import replicate_folder

__all__ = ["PAPER", "PUBLISHED", "ExperimentData", "Switches", "approach", "evaluate", "replicate_folder"]
