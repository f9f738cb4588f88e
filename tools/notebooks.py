# ruff: noqa: E501 - the cells are as long as they are
"""Write the two notebooks, run them, and turn them into pages of the site with their output.

    python -m tools.notebooks

A notebook is written here as a list of texts: `_Code` is a cell of code, any other text Markdown. The pages are
Markdown, because the site generator reads nothing else.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
PAGES = ROOT / "docs" / "start"


class _Code(str):
    """A cell of code."""


PRACTITIONER = [
    "# Practitioner: choose solvers from your own program\n\n"
    "The program has a queue of instances and eight solvers. `Selector` says which one to run; the outcome is "
    "reported back. Here the runs are those of the bundled scenario, so that the notebook takes seconds.",
    _Code(
        "import numpy as np\n\nfrom tailcut import Scenario, Selector\nfrom tailcut.scenarios import bundled\n\n"
        "scenario = Scenario.read(bundled.SCENARIO)\nscenario"
    ),
    "## The loop\n\n`select` picks a solver for the features of an instance. `observe` learns its outcome: a "
    "runtime, or that the run was stopped at the cutoff.",
    _Code(
        'selector = Selector("tailcut", scenario.algorithms, scenario.cutoff, seed=0)\n'
        "column = {name: i for i, name in enumerate(scenario.algorithms)}\nsolved = []\n\n"
        "for row in np.random.default_rng(0).permutation(len(scenario.instances))[:240]:\n"
        "    decision = selector.select(scenario.features[row], instance=scenario.instances[row])\n"
        "    k = column[decision.algorithm]\n"
        "    if scenario.solved[row, k]:\n"
        "        selector.observe(decision, runtime=scenario.runtimes[row, k])\n"
        "    else:\n"
        "        selector.observe(decision, censored_at=decision.budget)\n"
        "    solved.append(bool(scenario.solved[row, k]))\n\n"
        'f"{sum(solved)} of {len(solved)} solved, {sum(solved[-60:])} of the last 60"'
    ),
    "## Why this one?",
    _Code("decision.explain()"),
    _Code('decision.explain().to_frame()[["name", "runs", "score"]].round(2)'),
    "## Stop and continue\n\nA saved selector continues bit for bit.",
    _Code(
        'selector.save("selector.state")\nagain = Selector.load("selector.state")\n'
        "features = scenario.features[1]\nagain.select(features) == selector.select(features)"
    ),
]

RESEARCHER = [
    "# Researcher: compare selectors from Python\n\nOne import replays scenarios and keeps the results.",
    _Code(
        "from tailcut import bench\n\n"
        'outcome = bench.run(["tailcut", "tailcut_schedule", "thompson", "random", "sbs", "oracle"], seeds=1)\noutcome'
    ),
    "nPAR10 is 0 for the best solver per instance and 1 for the single best solver. The result file holds every "
    "step, for curves:",
    _Code(
        'frame = outcome.to_frame().set_index("selector")\n'
        'frame[["kind", "npar10", "unsolved"]].sort_values("npar10").round(3)'
    ),
    "## Your own selector",
    _Code(
        "from dataclasses import replace\n\nfrom tailcut import register\nfrom tailcut.catalogue import recipe\n"
        "from tailcut.policies.censoring import MomentMatching\n\n"
        'register(replace(recipe("thompson_rev"), name="mine", censoring=MomentMatching))\n'
        'bench.run(["mine", "thompson_rev", "sbs"], seeds=1).to_frame()[["selector", "par10_mean", "npar10"]].round(2)'
    ),
    "Only the new cells were computed. For several scenarios, pass a folder or a list of `Scenario`, and "
    "`bench.compare(outcome)` ranks them.",
]
NOTEBOOKS = {"practitioner": PRACTITIONER, "researcher": RESEARCHER}


def notebook(parts: list[str]) -> Any:
    """Return a notebook of cells that have not run."""
    cells = [new_code_cell(p) if isinstance(p, _Code) else new_markdown_cell(p) for p in parts]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # else random, and every writing would differ
    return new_notebook(cells=cells)


def executed(name: str, folder: Path) -> Any:
    """Return the notebook after running it in `folder`."""
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    made = notebook(NOTEBOOKS[name])
    NotebookClient(
        made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    for cell in made.cells:
        cell.get("metadata", {}).pop("execution", None)
    return made


def page(made: Any, name: str) -> str:
    """Return the notebook as Markdown, each output below its cell."""
    lines = []
    for cell in made.cells:
        if cell.cell_type == "markdown":
            lines.append(cell.source)
            continue
        lines.append(f"```py\n{cell.source}\n```")
        lines += [_output(one) for one in cell.outputs]
    head, *rest = lines
    source = f"The notebook: `notebooks/{name}.ipynb`, run by `python -m tools.notebooks`."
    return "\n\n".join([head, source, *rest]) + "\n"


def _output(output: Any) -> str:
    data = output.get("data", {})
    html = data.get("text/html")
    if html:
        plain = re.sub(r"<style.*?</style>|\n", "", "".join(html), flags=re.DOTALL)
        return f'<div class="output" markdown="0">{plain}</div>'
    text = data.get("text/plain") or output.get("text", "")
    return f"```text\n{''.join(text).rstrip()}\n```"


def main(folder: Path) -> None:
    """Run both and write them and their pages."""
    FOLDER.mkdir(exist_ok=True)
    for name in NOTEBOOKS:
        made = executed(name, folder)
        nbformat.write(made, FOLDER / f"{name}.ipynb")
        (PAGES / f"notebook-{name}.md").write_text(page(made, name), encoding="utf-8")


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as scratch:
        main(Path(scratch))
