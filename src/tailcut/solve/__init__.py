"""The drop-in solver: one instance in, the answer out; what was learned is kept for the next call.

    tailcut solve (thin_client, one per call) -> daemon (one per state file) -> fork server -> solver

thin_client.py  what a call runs: it imports next to nothing, so that starting costs next to nothing;
                also where the daemon of a state file is found, and who may start it
daemon.py       owns the state file, serves any number of calls at once, ends when it is idle
solving.py      one call: the project that decides, here or behind HTTP, and the answer

docs/howto/solve.md says why there is a daemon, and what happens when any of these processes is killed.
"""
