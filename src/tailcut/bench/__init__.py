"""Replaying recorded runtimes: what a selector would have cost."""

from tailcut.bench.replay import Trace, replay

__all__ = ["Trace", "replay"]
