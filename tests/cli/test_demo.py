"""``tailcut demo`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailcut.cli.demo import live_portfolio
from tailcut.domains import domain
from tests.cli.conftest import run


@pytest.mark.slow
def test_demo_runs_live_replays_and_leaves_a_report(tmp_path: Path) -> None:
    small = ("demo", "--instances", "4", "--seeds", "1", "--jobs", "2", "--out", str(tmp_path / "demo"))
    told = json.loads(run(*small, "--json").stdout)
    assert told["live"]["count"] == 4
    assert told["live"]["seconds"] > 0.0
    assert len(told["alone"]) == 9
    cost = {row["selector"]: row["par10_mean"] for row in told["replay"]}
    assert cost["oracle"] <= cost["tailcut"] < cost["random"]
    assert "<html" in Path(told["report"]).read_text(encoding="utf-8")[:500]
    again = run(*small)  # the same folder: what was replayed is not replayed again, the live part is new
    words = " ".join(again.stdout.split())
    assert "which is known only in hindsight" in words
    assert "less" in words or "more" in words


def test_the_live_part_does_without_cryptominisat_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no wheel of it for Python 3.14; what else is missing is an error, as everywhere."""
    monkeypatch.setattr(domain, "find_spec", lambda name: None if name == "pycryptosat" else object())
    monkeypatch.setattr(domain, "find_program", lambda name: None)
    portfolio = live_portfolio()
    assert len(portfolio.solvers) == 7
    assert portfolio.lacking == ()
    monkeypatch.setattr(domain, "find_spec", lambda name: None)
    assert any("the solver kissat needs" in why for why in live_portfolio().lacking)
