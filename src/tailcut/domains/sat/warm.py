"""Importing this module compiles and loads the local search, so that no run pays for it.

Meant for a process that imports modules and then forks. Where it cannot be compiled, the
import does nothing: the solver itself says what is missing when it is asked.
"""

import contextlib

from tailcut.domains.sat.local_search import load
from tailcut.errors import CompilerError

with contextlib.suppress(CompilerError):
    load()
