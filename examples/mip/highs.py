"""HiGHS as a solver of the portfolio: `main([FILE, OPTION=VALUE, ...])`."""

from __future__ import annotations

import highspy

from solution import print_solution


def main(arguments: list[str]) -> int:
    """Solve the program in a file and print its solution, that there is none, or nothing."""
    file, *options = arguments
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)  # CPU seconds count, over all threads
    solver.setOptionValue("mip_rel_gap", 0.0)  # else a solution 0.01 % off would be called optimal
    for option in options:
        name, _, value = option.partition("=")
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SystemExit(f"HiGHS does not take {option}")
    solver.readModel(file)
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        print("Infeasible")
    elif solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        print_solution(solver.getLp().col_names_, solver.getSolution().col_value, solver.getObjectiveValue())
    return 0
