"""The scenario that comes with Tailcut: measured by us, there before anything is fetched."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "data"
"""Holds one scenario per subfolder, as the ASlib repository has them."""
SCENARIO = FOLDER / "TAILCUT-SAT-2026"
COUNT, SEED = 360, 2026
"""Its formulas are those of `tailcut sat generate --count 360 --seed 2026`."""
