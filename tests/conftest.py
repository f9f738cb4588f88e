"""For all tests: in CI the generated examples are the same every time; the real data where they are."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

# What is started in the background ignores Ctrl-C, or by nohup SIGHUP; so would the programs that tests stop.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def aslib() -> Path:
    """The folder of real ASlib scenarios."""
    root = os.environ.get("TAILCUT_ASLIB")
    if not root:
        pytest.skip("set TAILCUT_ASLIB to the folder of ASlib scenarios")
    return Path(root)
