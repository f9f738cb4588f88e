"""SAT solvers that are programs: ``python -m tailcut.domains.sat.program NAME PROGRAM [OPTION...] FILE``.

They read what the others read, compressed files among it, and print ``s`` and ``v`` lines. MiniSat writes its
model into a file and says SATISFIABLE without an ``s``: it is put into the others' words. Programs that speak
them already take this process's place.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tailcut.domains.files import COMPRESSED, ScratchFile, read_bytes
from tailcut.errors import TailcutError

_STATUS = {10: "SATISFIABLE", 20: "UNSATISFIABLE"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program on a formula; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) < 3:
        sys.stderr.write("tailcut.domains.sat.program: expected NAME PROGRAM [OPTION...] FILE\n")
        return 2
    name, program, *options, file = words
    try:
        return _minisat([program, *options], file) if name == "minisat" else _run([program, *options], file)
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"tailcut.domains.sat.program: {error}\n")
        return 2


def _run(command: list[str], file: str) -> int:
    """Have the program answer in this process's place; a compressed file is uncompressed first."""
    if not file.endswith(COMPRESSED):
        os.execv(command[0], [*command, file])
    with ScratchFile(read_bytes(file)) as plain:
        return subprocess.call([*command, plain.path], pass_fds=[plain.descriptor])


def _minisat(command: list[str], file: str) -> int:
    """Print what MiniSat says as SAT competitions have it."""
    packed = file.endswith(COMPRESSED)
    with ScratchFile(read_bytes(file) if packed else b"") as plain, ScratchFile() as result:
        ended = subprocess.run(
            [*command, plain.path if packed else file, result.path],
            pass_fds=[plain.descriptor, result.descriptor],
            stdout=subprocess.PIPE,
            check=False,
        )
        model = result.read().decode("ascii", "replace").split("\n")[1:]
    code = ended.returncode
    if code not in _STATUS:
        sys.stderr.buffer.write(ended.stdout[-2000:])
        return code if code > 0 else 1
    sys.stdout.write(f"s {_STATUS[code]}\n")
    if code == 10:
        sys.stdout.write(f"v {model[0] if model else ''}\n")
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
