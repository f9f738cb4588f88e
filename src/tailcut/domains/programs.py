"""What the programs of all domains share: their arguments and files, and what they print.

A domain's `solve` prints a solver's answer, `features` the features of an instance, `answers` the verdict on
what a solver printed; `generate` writes instances. After a wrong call all exit with 2 and one line on
standard error.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import lzma
import math
import random
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from tailcut.errors import InputError, MissingExtraError, TailcutError

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
COMPRESSED = tuple(_OPENERS)

Instance = TypeVar("Instance")
Draw = Callable[[random.Random], str]


def read_bytes(path: str | Path, most: int = -1) -> bytes:
    """Return the uncompressed content of a file, at most so many bytes."""
    file = Path(path)
    opener = _OPENERS.get(file.suffix)
    try:
        with file.open("rb") if opener is None else opener(file, "rb") as stream:
            return bytes(stream.read(most))
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: is not a {file.suffix} file, or is damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


class ScratchFile(AbstractContextManager["ScratchFile"]):
    """A temporary file that disappears with the process, even if it is killed: it has no name.

    `run` lets a program read and write it by `path`.

    >>> with ScratchFile(b"abc") as scratch:
    ...     run(["cat", scratch.path], scratch).stdout
    b'abc'
    """

    def __init__(self, content: bytes = b"") -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="tailcut-")  # noqa: SIM115 - closed by __exit__
        self._file.write(content)
        self._file.flush()
        self._file.seek(0)
        self.descriptor = self._file.fileno()
        self.path = f"/dev/fd/{self.descriptor}"

    def read(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def __exit__(self, *_: object) -> None:
        self._file.close()


def run(command: Sequence[str], *files: ScratchFile, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, with access to scratch files."""
    descriptors = [file.descriptor for file in files]
    return subprocess.run(command, pass_fds=descriptors, stdout=subprocess.PIPE, check=False, **options)


@contextmanager
def needs_extra(who: str, extra: str) -> Iterator[None]:
    """Turn a module that is missing into an error that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{who} needs {error.name}, of the extra {extra!r}: pip install 'tailcut[{extra}]'"
        ) from None


class Program(argparse.ArgumentParser):
    """A program, `python -m MODULE`, that reports a wrong call in one line and exits with 2.

    >>> Program("x", "Do nothing.").parse_args(["y"])
    Traceback (most recent call last):
    tailcut.errors.InputError: unrecognized arguments: y
    """

    def __init__(self, module: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog=f"python -m {module}", description=description, epilog=epilog)
        self._module = module

    def error(self, message: str) -> NoReturn:
        raise InputError(message)

    def call(self, action: Callable[[argparse.Namespace], int], arguments: Sequence[str] | None) -> int:
        return exit_code(self._module, lambda: action(self.parse_args(arguments)))


def exit_code(module: str, action: Callable[[], int]) -> int:
    """Return the exit code of an action: 2 after an error, which is printed in one line."""
    try:
        return action()
    except SystemExit:  # --help has been printed
        return 0
    except (TailcutError, OSError) as error:
        sys.stderr.write(f"{module}: {error}\n")
        return 2


def entry_point(module: str, printing: Callable[..., int], *details: Any) -> Callable[..., int]:
    """Return the entry point of a module, one of the functions below with its details.

    As the last statement of a module, with its `__name__`, this makes it a program: ``python -m MODULE``.
    """
    if module != "__main__":
        return partial(printing, module, *details)
    spec = sys.modules[module].__spec__
    sys.exit(printing(spec.name if spec else module, *details))


def print_answer(
    module: str,
    answer: Callable[[str, str | None, str], tuple[bytes, int]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Print what `answer` makes of the arguments SOLVER [PROGRAM] FILE: the output and the exit code."""

    def act() -> int:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if len(words) not in (2, 3):
            raise InputError("expected SOLVER [PROGRAM] FILE")
        output, code = answer(words[0], words[1] if len(words) == 3 else None, words[-1])
        sys.stdout.buffer.write(output)
        sys.stdout.flush()
        return code

    return exit_code(module, act)


def print_features(
    module: str,
    extract: Callable[[str], Mapping[str, float | None]],
    what: str = "file",
    arguments: Sequence[str] | None = None,
) -> int:
    """Print the features of the file that the arguments name as a JSON object; return the exit code."""

    def act(given: argparse.Namespace) -> int:
        finite = {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in extract(given.file).items()
        }
        sys.stdout.write(json.dumps(finite) + "\n")
        sys.stdout.flush()
        return 0

    description = f"Print the features of a {what} (plain, .gz, .xz or .bz2) as a JSON object."
    program = Program(module, description)
    program.add_argument("file", metavar="FILE", help=f"the {what}")
    return program.call(act, arguments)


class UncheckableError(TailcutError):
    """An instance that our reader does not accept, although a solver may."""


def print_verdict(
    module: str,
    what: str,
    refuted: Callable[[Path, str, str], str | None],
    arguments: Sequence[str] | None = None,
) -> int:
    """Check an output with `refuted`: instance, output and solver -> what is wrong, or None.

    Return 0 if the answer is confirmed or cannot be verified, 1 if it is refuted, 2 for a wrong call; the
    last line on standard error is the reason.
    """

    def act(given: argparse.Namespace) -> int:
        if not Path(given.file).is_file():
            raise InputError(f"{given.file}: cannot be read: there is no such file")
        output = Path(given.output).read_text(errors="replace")
        try:
            problem = refuted(Path(given.file), output, given.solver)
        except UncheckableError as error:
            sys.stderr.write(f"{module}: not checked: {error}\n")
            return 0
        if problem is not None:
            sys.stderr.write(f"{problem}\n")
        return 0 if problem is None else 1

    program = Program(module, f"Check what a solver printed about a {what}: exit code 1 refutes it.")
    program.add_argument("file", metavar="FILE", help=f"the {what}; plain, .gz, .xz or .bz2")
    program.add_argument("output", metavar="OUTPUT", help="a file with what the solver printed")
    program.add_argument("solver", metavar="SOLVER", nargs="?", default="", help="who printed it")
    return program.call(act, arguments)


def read_to_check(read: Callable[[Path], Instance], file: Path) -> Instance:
    try:
        return read(file)
    except TailcutError as error:
        raise UncheckableError(str(error)) from None


def print_generated(
    module: str, families: Sequence[Draw], ending: str, arguments: Sequence[str] | None = None
) -> int:
    """Write instances, the families in turn, named FAMILY-NUMBER; the same seed writes the same files."""
    names = [draw.__name__ for draw in families]

    def act(given: argparse.Namespace) -> int:
        folder = Path(given.folder)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(given.count):
            name = names[number % len(names)]
            text = families[number % len(names)](random.Random(f"{given.seed} {number} {name}"))
            (folder / f"{name}-{number:04}.{ending}").write_text(text, encoding="ascii")
        sys.stdout.write(f"{given.folder}: {max(given.count, 0)} instances written\n")
        return 0

    description = f"Write instances of {len(names)} families in turn: {', '.join(names)}."
    program = Program(module, description)
    program.add_argument("folder", metavar="FOLDER", help="where to; created if missing")
    program.add_argument("--count", type=int, default=60, help="how many (default: %(default)s)")
    program.add_argument("--seed", type=int, default=0, help="same seed, same files (default: %(default)s)")
    return program.call(act, arguments)
