"""Take the pictures of the dashboard in docs/reference/service.md: a real server, a synthetic stream.

    python benchmarks/dashboard.py [--to docs/figures] [--all]

Two small files, dashboard-wide.png (light) and dashboard-narrow.png (dark); with --all further ones of every
view, wide and narrow, light and dark, to look at after a change.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailcut.journal import Tokens
from tailcut.scenarios.synthetic import generate
from tailcut.service import http_server
from tailcut.service.client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

INSTANCES, WAITING = 400, 5
SOLVERS = ("cadical", "glucose", "kissat", "lingeling", "maplesat", "minisat")
FEATURES = ("variables", "clauses", "ratio", "horn", "binary", "ternary", "degree", "entropy")
WIDE, NARROW = 1280, 390


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server; yield its address and a token."""
    path = folder / "farm.db"
    http_server.first_token(path)
    token = Tokens(path).create("pictures", ["read", "write"])
    with http_server.bound("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "tailcut", "serve", "--state", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(process, port)
        yield f"http://127.0.0.1:{port}", token
    finally:
        process.terminate()
        process.wait(60)


def fill(client: Client) -> None:
    """Let three projects work: one for long, one for a while, one not yet."""
    for name, selector, instances in (
        ("sat-farm", "tailcut", INSTANCES),
        ("planning", "thompson_rev", INSTANCES // 4),
        ("tomorrow", "tailcut", 0),
    ):
        scenario = generate(
            n_instances=max(instances, 2),
            n_algorithms=len(SOLVERS),
            n_features=len(FEATURES),
            noise=0.8,
            timeouts=0.35,
            seed=7,
        )
        scale = 300.0 / scenario.cutoff
        project = client.create_project(
            name, algorithms=SOLVERS, cutoff=300.0, selector=selector, feature_names=FEATURES
        )
        for number in range(instances):
            features = [float(value) for value in scenario.features[number]]
            decision = project.select(features, instance=f"{name}/{number:04d}.cnf")
            if number >= instances - WAITING:
                continue
            runtime = scale * float(scenario.runtimes[number, SOLVERS.index(decision.algorithm)])
            if number % 97 == 50:
                project.observe(decision, failed=True)
            elif runtime <= decision.budget:
                project.observe(decision, runtime=runtime)
            else:
                project.observe(decision, censored_at=decision.budget)


def opened(browser: Browser, address: str, token: str, width: int, scheme: Literal["light", "dark"]) -> Page:
    """Return a page that is logged in."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(address)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="sat-farm").wait_for()
    return page


def project(page: Page, name: str) -> None:
    """Show a project, with everything that is fetched later."""
    page.get_by_role("link", name=name).click()
    page.get_by_role("heading", name=name, level=1).wait_for()
    page.wait_for_timeout(2500)
    if page.get_by_text("being estimated").count():
        page.get_by_text("being estimated").wait_for(state="detached", timeout=120_000)


def pictures(browser: Browser, address: str, token: str, folder: Path, *, everything: bool) -> None:
    """Take them."""
    page = opened(browser, address, token, WIDE, "light")
    project(page, "sat-farm")
    page.set_viewport_size({"width": WIDE, "height": 1400})
    page.screenshot(path=folder / "dashboard-wide.png")
    page.close()
    page = opened(browser, address, token, NARROW, "dark")
    project(page, "sat-farm")
    page.screenshot(path=folder / "dashboard-narrow.png")
    page.close()
    for name in ("dashboard-wide.png", "dashboard-narrow.png"):
        _shrink(folder / name)
    if everything:
        for width in (WIDE, NARROW):
            _views(browser, address, token, folder, width, "light")
            _views(browser, address, token, folder, width, "dark")


def _shrink(path: Path) -> None:
    """Go down to 256 colours, rare ones among them, which saves more than half of the size."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)


def _views(
    browser: Browser, address: str, token: str, folder: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    def take(view: str, *, full: bool = True) -> None:
        page.screenshot(path=folder / f"{view}-{width}-{scheme}.png", full_page=full)

    page = opened(browser, address, token, width, scheme)
    take("projects")
    project(page, "tomorrow")
    take("empty")
    page.get_by_role("link", name="Projects").click()
    project(page, "sat-farm")
    take("project")
    page.get_by_role("button", name="Why decision").nth(8).click()
    page.get_by_role("heading", name="Features that weigh most").wait_for()
    take("explanation", full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Log out").click()
    take("login")
    page.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/figures"))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (address, token):
        started = time.perf_counter()
        with Client(address, token) as client:
            fill(client)
        print(f"{time.perf_counter() - started:.1f} s for {INSTANCES + INSTANCES // 4} decisions")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            pictures(browser, address, token, options.to, everything=options.all)
            browser.close()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    sys.exit("the server does not start")


if __name__ == "__main__":
    main()
