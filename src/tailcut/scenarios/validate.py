"""Validating a scenario: all that is wrong with its files, by the very code that reads them."""

from __future__ import annotations

import os
from pathlib import Path

from tailcut.errors import ScenarioError
from tailcut.scenarios.problems import Problem, Problems
from tailcut.scenarios.reader import build, load


def validate(path: str | os.PathLike[str]) -> list[Problem]:
    """Return every problem of the scenario in the folder `path`, errors first.

    Without an error in the list the scenario can be read; with one it cannot.

    >>> [problem.severity for problem in validate("no/such/folder")]
    ['error']
    """
    folder = Path(path)
    try:
        files = load(folder)
    except ScenarioError as error:
        return [Problem(folder.name, None, None, str(error))]
    problems = Problems()
    build(files, problems)
    return sorted(problems.found, key=lambda problem: problem.severity)
