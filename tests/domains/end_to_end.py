"""A domain from end to end: instances of each family, every solver found on each, answers compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tailcut.domains import find_domain
from tailcut.domains.domain import find_solvers
from tailcut.journal import Journal, Project
from tailcut.live.instance_record import instance_records
from tests.live.commands import tailcut

COUNT = 16


def found_or_skip(domain: str, at_least: int = 2) -> list[str]:
    """Return the solvers of a domain found here, or skip for want of enough."""
    solvers = find_domain(domain).solvers
    found = list(find_solvers(find_domain(domain)))
    if len(found) < at_least:
        how = ", ".join(one.install for one in solvers if one.name not in found and one.install)
        pytest.skip(f"{len(found)} solvers of the domain {domain} are installed, {at_least} needed: {how}")
    return found


def run_domain(folder: Path, domain: str, *more: str) -> dict[str, dict[str, Any]]:
    """Run every solver on all of `folder/queue`; return the answer lines, after comparing the answers."""
    solvers = found_or_skip(domain)
    arguments = ["--measure-first", str(COUNT), "--cutoff", "5", "--seed", "1", *more]
    ended = tailcut(folder, "run", "--domain", domain, "queue", *arguments)
    assert f"{domain}: {', '.join(solvers)}" in ended.stderr
    assert "disagree" not in ended.stdout + ended.stderr
    assert "refuted" not in ended.stdout + ended.stderr
    lines = [json.loads(line) for line in (folder / "tailcut-run.jsonl").read_text().splitlines()]
    assert len(lines) == COUNT
    assert all(line["answer"] is not None for line in lines), [x for x in lines if x["answer"] is None]
    answered: Counter[str] = Counter()
    with Journal(folder / "tailcut-run.db") as journal:
        records = instance_records(Project(journal, "run"))
    for record in records.values():
        assert {run["solver"] for run in (*record.runs, *record.extra.values())} == set(solvers)
        answered.update({run["solver"] for run in record.all_runs if run["answer"] is not None})
    assert sum(count > 0 for count in answered.values()) >= 2, dict(answered)
    assert sum(answered.values()) >= 2 * COUNT, f"on average two solvers answer an instance: {answered}"
    again = tailcut(folder, "run", "--domain", domain, "queue", *arguments)
    assert f"{COUNT} instances" in again.stdout
    assert len((folder / "tailcut-run.jsonl").read_text().splitlines()) == COUNT
    return {line["instance"]: line for line in lines}
