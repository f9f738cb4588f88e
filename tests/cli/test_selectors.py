"""``tailcut selectors`` as a user runs it."""

from __future__ import annotations

import json

from tailcut import CATALOGUE
from tailcut.catalogue import BASELINES, OFFLINE_PEERS, PEERS
from tests.cli.conftest import run


def test_selectors_lists_every_name_with_parts_and_hyperparameters() -> None:
    rows = json.loads(run("selectors", "--json").stdout)
    assert {row["name"] for row in rows} == {*CATALOGUE, *PEERS, *OFFLINE_PEERS, *BASELINES}
    by_name = {row["name"]: row for row in rows}
    assert by_name["rand_bclinucb_rev"]["parts"] == {
        "representation": "paper",
        "model": "RidgeBank",
        "target": "LogSeconds",
        "censoring": "AtCutoff",
        "exploration": "Bounds(bias_corrected=True)",
        "loss": "ExpectedPar",
        "first_runs": "ForcedExploration",
    }
    assert by_name["rand_bclinucb_rev"]["hyperparameters"]["rand_sigma"] == 0.5
    assert by_name["oracle"]["kind"] == by_name["sbs_pair"]["kind"] == "hindsight"
    assert by_name["round_robin"]["kind"] == "schedule"
    assert by_name["round_robin"]["parts"] == {"representation": "none", "policy": "RoundRobin"}
    assert "| `round_robin` | schedule | " in run("selectors", "--markdown").stdout


def test_selectors_as_a_table_names_them_all() -> None:
    shown = run("selectors").stdout
    assert all(name in shown for name in CATALOGUE)
    assert "round_robin (schedule)" in shown
