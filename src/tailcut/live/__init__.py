"""Running solvers for real: `tailcut.live.limits` holds each run to its limits of time and memory.

This file imports nothing, because the server process that starts the solvers loads it too.
"""
