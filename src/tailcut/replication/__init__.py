"""The published table, the switches that reproduce it, and the comparison.

Apart from the core on purpose: what is here follows the published experiment, slips included, and is not
a place to take selectors from. `tailcut.catalogue` has the same approaches by the paper's formulas.

    Table -> protocol (seeds, order, PAR10) -> approaches (LinUCB, Thompson, Degroote) -> compare -> verdicts
"""

from tailcut.replication.approaches import APPROACHES, approach
from tailcut.replication.compare import Comparison, compare
from tailcut.replication.protocol import SEEDS, Summary, evaluate
from tailcut.replication.published import Cell, cell, cells, scenarios
from tailcut.replication.switches import PAPER, PUBLISHED, Switches
from tailcut.replication.table import Table, table_of

__all__ = [
    "APPROACHES",
    "PAPER",
    "PUBLISHED",
    "SEEDS",
    "Cell",
    "Comparison",
    "Summary",
    "Switches",
    "Table",
    "approach",
    "cell",
    "cells",
    "compare",
    "evaluate",
    "scenarios",
    "table_of",
]
