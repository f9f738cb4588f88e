"""How long the report on a result file takes, and where the time goes.

Run with a result file, and with TAILCUT_ASLIB set for survival curves: python benchmarks/report.py results.db
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tailcut.bench.store import opened
from tailcut.report.gather import gather
from tailcut.report.results_page import write_results_page


def main() -> None:
    aslib = os.environ.get("TAILCUT_ASLIB")
    started = time.perf_counter()
    with opened(sys.argv[1], read_only=True) as store:
        report = gather(store, Path(aslib) if aslib else None)
    gathered = time.perf_counter()
    print(f"{len(report.results.cells)} cells gathered in {gathered - started:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        write_results_page(report, Path(folder), jobs=os.cpu_count() or 1)
        count = len(list((Path(folder) / "figures").iterdir()))
    print(f"{count} figure files, tables and page written in {time.perf_counter() - gathered:.1f} s")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
