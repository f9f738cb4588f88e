"""How long reading the ASlib runtime scenarios takes, from their files and from the cache.

Run with TAILCUT_ASLIB set to the folder of scenarios: python benchmarks/aslib_read.py
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tailcut.errors import ScenarioError
from tailcut.scenarios import Scenario


def seconds(folder: Path, *, cache: bool) -> float:
    started = time.perf_counter()
    Scenario.read(folder, cache=cache)
    return time.perf_counter() - started


def runtime_scenarios(root: Path) -> list[Path]:
    found = []
    for folder in sorted(path for path in root.iterdir() if (path / "description.txt").exists()):
        try:
            Scenario.read(folder)  # also fills the cache
        except ScenarioError as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            found.append(folder)
    return found


def main() -> None:
    root = os.environ.get("TAILCUT_ASLIB")
    if not root:
        sys.exit("set TAILCUT_ASLIB to the folder of ASlib scenarios")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TAILCUT_CACHE"] = cache
        folders = runtime_scenarios(Path(root))
        cold = [seconds(folder, cache=False) for folder in folders]
        warm = [seconds(folder, cache=True) for folder in folders]
    print(f"{'scenario':<24}{'files, ms':>12}{'cache, ms':>12}")
    rows = [*zip((f.name for f in folders), cold, warm, strict=True), ("all", sum(cold), sum(warm))]
    for name, from_files, from_cache in rows:
        print(f"{name:<24}{1e3 * from_files:>12.1f}{1e3 * from_cache:>12.1f}")


if __name__ == "__main__":
    main()
