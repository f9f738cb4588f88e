"""Chromium, driven by playwright, for tests of pages; they are skipped, with the reason, without it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launched() -> Iterator[Browser]:
    """Yield a browser and close it afterwards: the body of a fixture."""
    if BROWSER is None:
        pytest.skip("no Chromium on this machine (on Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright from PyPI")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, headless=True, args=list(FLAGS))
        yield chromium
        chromium.close()
