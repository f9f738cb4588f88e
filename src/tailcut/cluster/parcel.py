"""A job for another machine: the program, and the files it needs there.

A program is given files by their absolute paths. Those that were made for it alone (an answer to be checked)
exist nowhere else and always go along. An instance goes along if that is wanted; otherwise the worker must
see the same file, and says so if it does not: a run without its instance would teach that the solver fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tailcut.errors import InputError
from tailcut.live.engine import ProgramJob
from tailcut.live.limits import Call, Command
from tailcut.live.runnable import why_not


class Parcel(NamedTuple):
    """A job with the files that go along, and the sizes of those that must be there."""

    job: ProgramJob
    contents: Mapping[str, bytes]
    """Path -> what is to be in the file."""
    shared: Mapping[str, int]
    """Path -> bytes that the file there must have."""


def packed(job: ProgramJob, *, ship: bool) -> Parcel:
    """Return a job with its files; the instance goes along only if `ship` is set."""
    along = [path for path in (job.made, job.instance if ship else None) if path is not None]
    shared = [] if ship or job.instance is None else [job.instance]
    try:
        contents = {str(path): path.read_bytes() for path in along}
        return Parcel(job, contents, {str(path): path.stat().st_size for path in shared})
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None


@contextmanager
def unpacked(parcel: Parcel, beside: Path) -> Iterator[Command | Call]:
    """Yield the program to run here; files sent along are in a folder that is removed afterwards.

    Raises InputError if something is missing here; the caller knows the name of this machine.
    """
    program = parcel.job.program
    for path, size in parcel.shared.items():
        _check_shared(Path(path), size)
    problem = why_not(program)
    if problem is not None:  # that it is not installed here says nothing about a solver
        raise InputError(problem)
    if not parcel.contents:
        yield program
        return
    with TemporaryDirectory(prefix="tailcut-", dir=beside) as folder:
        for number, (path, content) in enumerate(parcel.contents.items()):
            target = Path(folder) / str(number) / Path(path).name
            target.parent.mkdir()
            target.write_bytes(content)
            program = _moved(program, path, str(target))
        yield program


def _check_shared(path: Path, size: int) -> None:
    if not path.is_file():
        raise InputError(f"there is no {path}; share its folder with the workers, or give --ship-instances")
    if path.stat().st_size != size:
        raise InputError(f"{path} is another file there: it has {path.stat().st_size} bytes, not {size}")


def _moved(program: Command | Call, before: str, after: str) -> Command | Call:
    """Return a program whose words have one path in place of another.

    >>> program = Command(("minisat", "/queue/i1.cnf", "--model=/queue/i1.cnf.out"))
    >>> _moved(program, "/queue/i1.cnf", "/tmp/i1.cnf")
    Command(argv=('minisat', '/tmp/i1.cnf', '--model=/tmp/i1.cnf.out'), environment=None, folder=None)
    """
    if isinstance(program, Command):
        return replace(program, argv=tuple(word.replace(before, after) for word in program.argv))
    return replace(program, arguments=tuple(word.replace(before, after) for word in program.arguments))
