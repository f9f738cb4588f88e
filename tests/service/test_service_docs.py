"""The lines of README.md and docs/reference/service.md work word by word; only the port is another."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.running import Running

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8765"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash")
@pytest.mark.parametrize(("page", "least"), [("README.md", 4), ("docs/reference/service.md", 18)])
def test_the_curl_lines_work(page: str, least: int, tmp_path: Path) -> None:
    lines = "".join(block for block in blocks(page, "sh") if "curl" in block)
    assert lines.count("curl ") >= least
    # stop at the first answer that is an error, and put a mark between answers
    strict = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; echo; echo ---; }\n'
    with Running(tmp_path / "farm.db") as running:
        script = strict + lines.replace(ADDRESS, running.address)
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        result = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": tools},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
    answers = result.stdout.split("---\n")[:-1]
    assert len(answers) == lines.count("curl ")
    decided, observed = json.loads(answers[1]), json.loads(answers[2])
    assert (decided["algorithm"], decided["budget"], decided["reason"]) == ("kissat", 300.0, "first run")
    assert observed == {"decision": 0, "learned": True}


def test_the_answer_shown_is_the_one_given(shared: Running) -> None:
    shown = json.loads(blocks("docs/reference/service.md", "json")[0])
    path = shared.create("sat", "tailcut", algorithms=["kissat", "minisat"], cutoff=300)
    given = shared.call("POST", f"{path}/select", {"features": [0.3, 120.0], "instance": "i1"}).json
    assert given.pop("scores") == pytest.approx(shown.pop("scores"), abs=0.001)
    assert given == shown


def test_the_error_shown_is_the_one_given(shared: Running) -> None:
    shown = json.loads(blocks("docs/reference/service.md", "json")[1])
    path = shared.create("wrong")
    assert shared.call("POST", f"{path}/select", b'{"features": [1.0, NaN]}').json == shown


def test_the_python_lines_work(shared: Running) -> None:
    for source in blocks("docs/reference/service.md", "py"):
        exec(source.replace(ADDRESS, shared.address), {"token": shared.token})


def test_the_token_lines_work(shared: Running) -> None:
    (lines,) = (block for block in blocks("docs/reference/service.md", "sh") if "token revoke" in block)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    folder = shared.path.parent
    shutil.copy(shared.path, folder / "farm.db")
    environment = {**os.environ, "PATH": tools}
    subprocess.run(["bash", "-ec", lines], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def test_every_route_is_listed(shared: Running) -> None:
    page = (ROOT / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    listed = page.split("<!-- routes -->\n")[1].split("<!-- end -->")[0].splitlines()[2:]
    document = shared.call("GET", "/v1/openapi.json").json
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    assert listed == rows, "stale:\n" + "\n".join(rows)
