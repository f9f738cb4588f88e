"""The features of a mixed-integer program: `main([FILE])` prints them as one JSON object."""

from __future__ import annotations

import json

import numpy as np

import mps


def main(arguments: list[str]) -> None:
    """Print what is quickly seen: sizes, kinds of rows and variables, how coefficients and costs vary."""
    program = mps.read(arguments[0])
    n, m, k = len(program.names), len(program.senses), len(program.values)
    binary = program.whole & (program.upper == 1)
    print(
        json.dumps(
            {
                "log_variables": np.log(n),
                "log_rows": np.log(m),
                "density": k / (n * m),
                "equalities": program.senses.count("E") / m,
                "binary": binary.mean(),
                "continuous": 1 - program.whole.mean(),
                "log_coefficients": np.log(np.abs(program.values)).mean(),
                "coefficient_spread": np.log(np.abs(program.values)).std(),
                "cost_spread": program.cost.std() / (np.abs(program.cost).mean() or 1.0),
            }
        )
    )
