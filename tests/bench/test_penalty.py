"""Another penalty: it scores, the selectors that have one decide by it, and columns are named after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tailcut.bench.benchmark import benchmark, compute
from tailcut.bench.plan import Contender, plan
from tailcut.bench.ranks import ranked_groups
from tailcut.bench.replay import replay
from tailcut.bench.store import opened
from tailcut.bench.summary import paid
from tailcut.cli.app import app
from tailcut.report.gather import gather
from tailcut.scenarios import Scenario
from tailcut.selector import Selector


@pytest.mark.parametrize("label", ["bclinucb_rev", "tailcut_schedule"])
@pytest.mark.parametrize("penalty", [10.0, 2.0])
def test_selectors_decide_by_the_penalty_they_are_scored_by(
    label: str, penalty: float, generated: Path
) -> None:
    scenario = Scenario.read(generated / "ALPHA")
    (cell,) = plan([(str(generated / "ALPHA"), scenario)], [Contender.of(label)], 1, penalty)
    given: dict[str, Any] = {} if penalty == 10.0 else {"penalty": penalty}
    trace = replay(scenario, Selector(label, scenario.algorithms, scenario.cutoff, seed=0, **given), seed=0)
    result = compute(cell)
    assert result.losses is not None
    np.testing.assert_array_equal(result.losses, paid(scenario, trace, penalty)[0])
    np.testing.assert_array_equal(result.choices, trace.choices)


def test_a_penalty_that_is_named_stays(generated: Path) -> None:
    scenario = Scenario.read(generated / "ALPHA")
    named, same, plain = (
        plan([("", scenario)], [Contender.parse(label)], 1, 2.0)[0]
        for label in ("tailcut_schedule:penalty=10", "tailcut_schedule:penalty=2", "tailcut_schedule")
    )
    assert named.contender.settings(2.0)["penalty"] == 10.0
    assert plain.contender.settings(2.0)["penalty"] == 2.0
    assert same.hash == plain.hash != named.hash
    assert Contender.of("thompson").settings(2.0) == Contender.of("thompson").settings()


def test_columns_are_named_after_the_penalty(generated: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.db"
    command = ["bench", "--aslib", str(generated), "--out", str(out), "--seeds", "1", "--jobs", "1"]
    for name in ("bclinucb_rev", "random", "sbs"):
        command += ["--selector", name]
    rows = json.loads(CliRunner().invoke(app, [*command, "--penalty", "2", "--json"]).stdout)
    names = ("penalty", "par2_mean", "par2_std", "repar2", "npar2", "npar2_train")
    assert list(rows[0])[4:10] == list(names)
    assert rows[0]["penalty"] == 2.0
    assert not any("par10" in name for row in rows for name in row)
    usual = json.loads(CliRunner().invoke(app, [*command, "--json", "--out", f"{out}10"]).stdout)
    assert list(usual[0])[4:9] == ["par10_mean", "par10_std", "repar10", "npar10", "npar10_train"]
    table = CliRunner().invoke(app, [*command, "--penalty", "2"]).stdout
    assert "nPAR2" in table
    assert "PAR10" not in table
    compared = CliRunner().invoke(app, ["compare", str(out), "--json"])
    assert "mean_npar2" in json.loads(compared.stdout)
    assert "mean nPAR2" in CliRunner().invoke(app, ["compare", str(out)]).stdout
    with opened(out, read_only=True) as store:
        report = gather(store)
        assert {json.loads(row["settings"]).get("penalty") for row in store.rows()} == {None, 2.0}
    assert report.results.par == "PAR2"
    by_pair = {(row["scenario"], row["selector"]): row["par2_mean"] for row in rows}
    grid = report.grids["par"]
    for i, scenario in enumerate(grid.scenarios):
        for j, selector in enumerate(grid.selectors):
            assert grid.mean[i, j] == by_pair[scenario, selector]


def test_a_label_that_spells_out_defaults_is_the_plain_one_under_any_penalty(
    generated: Path, tmp_path: Path
) -> None:
    contenders = [Contender.parse(label) for label in ("bclinucb_rev:alpha=1", "random")]
    outcome = benchmark(generated, contenders=contenders, seeds=1, penalty=2.0).run(tmp_path / "r.db")
    assert [group.par for group in ranked_groups(outcome.rows)] == ["par2"]
    assert "par2_mean" in outcome._repr_html_()
    with opened(tmp_path / "r.db", read_only=True) as store:
        assert gather(store).results.selectors == ("bclinucb_rev", "random")
