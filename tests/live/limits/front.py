"""Tailcut's process in small, for tests that kill it: `python front.py METHOD HOW SOLVER...`."""

from __future__ import annotations

import os
import sys
import time

from tailcut.live.limits import Command, Launcher, ResourceLimits


def main() -> None:
    method, how, *solver = sys.argv[1:]
    launcher = Launcher(cgroups=method == "cgroups")
    runs = [launcher.start(Command(tuple(solver)), ResourceLimits()) for _ in range(2)]
    if how == "with a copy" and os.fork() == 0:
        time.sleep(60)  # a worker that has inherited the sockets
        os._exit(0)
    print("started", launcher._servers[""].base, flush=True)
    while True:
        try:
            print([str(ended.ending) for run in runs if (ended := run.wait())], flush=True)
            break
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    if how != "not closed":
        launcher.close()


if __name__ == "__main__":
    main()
