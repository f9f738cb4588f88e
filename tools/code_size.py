"""Print how much Python there is under src/, by folder, and fail when it is more than we want to read.

python -m tools.code_size
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "tailcut"
CORE = {
    "catalogue",
    "errors",
    "explain",
    "models",
    "policies",
    "representation",
    "schedules",
    "selector",
    "state",
    "types",
}
"""What a reader needs to understand how a decision is made: packages or modules."""
MAX_LINES, MAX_FILES, MAX_CORE_LINES = 38_000, 200, 8_500
"""A part that adds more than fits takes something else away."""


def sizes() -> dict[str, tuple[int, int]]:
    """Return files and lines of each package and module at the top of `tailcut`."""
    counts: dict[str, tuple[int, int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        files, lines = counts.get(name, (0, 0))
        counts[name] = files + 1, lines + len(path.read_text(encoding="utf-8").splitlines())
    return counts


def excess(counts: dict[str, tuple[int, int]]) -> list[str]:
    """Return which limits are exceeded, in words."""
    n_files, n_lines = (sum(column) for column in zip(*counts.values(), strict=True))
    core = sum(lines for name, (_, lines) in counts.items() if name in CORE)
    measured = (
        ("files", n_files, MAX_FILES),
        ("lines", n_lines, MAX_LINES),
        ("core lines", core, MAX_CORE_LINES),
    )
    return [
        f"{value:,} {what}, at most {limit:,} allowed" for what, value, limit in measured if value > limit
    ]


def table(counts: dict[str, tuple[int, int]]) -> str:
    """Return the counts as a Markdown table, with the sums of everything and of the core."""
    core = {name: count for name, count in counts.items() if name in CORE}
    lines = ["| folder | files | lines |", "|---|---:|---:|"]
    lines += [
        f"| {name}{' (core)' * (name in core)} | {n} | {size:,} |" for name, (n, size) in counts.items()
    ]
    for name, part in (("total", counts), ("core", core)):
        n, size = (sum(column) for column in zip(*part.values(), strict=True))
        lines.append(f"| **{name}** | {n} | {size:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    found = sizes()
    sys.stdout.write(table(found) + "\n")
    for problem in excess(found):
        sys.stderr.write(f"too much: {problem}\n")
    sys.exit(bool(excess(found)))
