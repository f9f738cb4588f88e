"""SAT solvers on the PATH speak the words of SAT competitions, MiniSat among them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tailcut.domains.found import find_program
from tailcut.domains.sat import DOMAIN
from tailcut.domains.sat.verify import refuted

SAT, UNSAT = (tiny.path for tiny in DOMAIN.check)
WAYS = [way for solver in DOMAIN.solvers for way in solver.ways if way.program is not None]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.program)
def test_programs_on_the_path(way, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = find_program(way.program)
    if program is None:
        pytest.skip(f"{way.program} is not installed" + (f": {way.install}" if way.install else ""))
    packed = tmp_path / "packed.cnf.gz"
    packed.write_bytes(gzip.compress(SAT.read_bytes()))
    for path, code in ((SAT, 10), (UNSAT, 20), (packed, 10)):
        words = [
            word.replace("{program}", program).replace("{instance}", str(path)) for word in way.arguments
        ]
        command = [sys.executable, "-m", "tailcut.domains.sat.program", *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert ("s SATISFIABLE" if code == 10 else "s UNSATISFIABLE") in ended.stdout.splitlines()
        assert refuted(path, ended.stdout) is None
