"""How programs and functions are started, what they see, and what is kept of what they print."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailcut.errors import InputError, LiveError, UnsupportedSystemError
from tailcut.live.limits import Call, Command, Ended, Ending, Launcher, ResourceLimits, tree
from tests.live.limits.conftest import Solver, alive, busy, wait_for

NONE = ResourceLimits()

FUNCTIONS = """
import ctypes, os, sys, threading, time

print("loading")
ctypes.CDLL(None).printf(b"loading\\n")

def show(arguments):
    print(arguments, os.getcwd(), os.environ.get("COLOUR"), os.environ["OMP_NUM_THREADS"])
    return 10

def c_code(arguments):
    ctypes.CDLL(None).printf(b"from C\\n")

def fail(arguments):
    print("so far")
    raise RuntimeError("no luck")

def leave(arguments):
    sys.exit(int(arguments[0]) if arguments else "a reason")

def spin(arguments):
    while True:
        pass

def threads(arguments):
    print(os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"])

def state(arguments):
    files = [os.path.realpath("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd")]
    print(sum("libffi" not in file for file in files), threading.active_count(), os.getsid(0) == os.getpid())
"""


BURNING = """
import time
end = time.process_time() + {seconds}
while time.process_time() < end:
    pass

def main(arguments):
    pass
"""


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """A launcher that has loaded the functions above."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "broken.py").write_text("raise RuntimeError('broken on purpose')")
    (folder / "dear.py").write_text(BURNING.format(seconds=0.4))
    (folder / "endless.py").write_text(BURNING.format(seconds=1e9))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        with Launcher(preload=("functions",)) as launcher:
            yield launcher


def finish(
    launcher: Launcher, program: Command | Call, limits: ResourceLimits = NONE, keep: int = 2**20
) -> Ended:
    ended = launcher.start(program, limits, keep_output=keep).wait()
    assert ended is not None
    return ended


def test_a_function_is_called_like_a_program(called: Launcher, tmp_path: Path) -> None:
    call = Call("functions:show", ("a", "b c"), environment={"COLOUR": "red"}, folder=tmp_path)
    ended = finish(called, call, ResourceLimits(cpu=60))
    assert (ended.ending, ended.exit_code) == (Ending.FINISHED, 10)
    assert ended.output.decode() == f"['a', 'b c'] {tmp_path} red 1\n"


def test_what_c_code_prints_is_not_lost(called: Launcher) -> None:
    assert finish(called, Call("functions:c_code")).output == b"from C\n"


def test_an_exception_is_a_traceback_and_exit_code_1(called: Launcher) -> None:
    ended = finish(called, Call("functions:fail"))
    assert (ended.ending, ended.exit_code, ended.output) == (Ending.FINISHED, 1, b"so far\n")
    assert ended.errors.endswith(b"RuntimeError: no luck\n")


def test_sys_exit_gives_the_exit_code(called: Launcher) -> None:
    assert finish(called, Call("functions:leave", ("20",))).exit_code == 20
    ended = finish(called, Call("functions:leave"))
    assert (ended.exit_code, ended.errors) == (1, b"a reason\n")


def test_a_function_is_held_to_its_limit(called: Launcher) -> None:
    ended = finish(called, Call("functions:spin"), ResourceLimits(cpu=0.2))
    assert ended.ending == Ending.CPU_LIMIT
    assert ended.cpu >= 0.2


def test_imports_are_limited_and_not_counted(called: Launcher) -> None:
    """A module that is not preloaded is imported in the run's process, before the function is entered."""
    dear = finish(called, Call("dear:main"), ResourceLimits(cpu=20))
    assert dear.ending is Ending.FINISHED
    assert dear.cpu < 0.2
    assert finish(called, Call("endless:main"), ResourceLimits(cpu=0.5)).ending is Ending.CPU_LIMIT


def test_functions_have_one_blas_thread_and_commands_the_environment_as_it_is(
    called: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    shown = finish(called, Call("functions:threads")).output
    assert shown == b"1 3\n"
    command = Command(("sh", "-c", "echo ${OMP_NUM_THREADS-none} $OPENBLAS_NUM_THREADS"))
    assert finish(called, command).output == b"none 3\n"


def test_a_function_sees_nothing_of_its_supervisor(called: Launcher) -> None:
    """Three descriptors and the one that lists them; a new libffi also keeps its own file open."""
    assert finish(called, Call("functions:state")).output == b"4 1 True\n"


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        (Command(("no-such-solver", "x")), "no such program: no-such-solver"),
        (Command(("./no-such-solver",)), "no such program: ./no-such-solver"),
        (Command(("/etc/passwd",)), "not executable: /etc/passwd"),
        (Command(("true",), folder=Path("/no/such")), "cannot run in the folder /no/such: No such file or"),
        (Call("functions:nothing"), "cannot import functions:nothing: module 'functions' has no attribute"),
        (Call("no_such_module:main"), "cannot import no_such_module:main: No module named 'no_such_module'"),
        (Call("broken:main"), "cannot import broken:main: broken on purpose"),
    ],
)
def test_what_cannot_be_started_says_why(called: Launcher, program: Command | Call, detail: str) -> None:
    ended = finish(called, program, ResourceLimits(cpu=60))
    assert (ended.ending, ended.exit_code, ended.signal) == (Ending.CRASHED, None, None)
    assert ended.detail.startswith(detail)


def test_scripts_that_cannot_run_say_why(launcher: Launcher, tmp_path: Path) -> None:
    for name, first_line in (("bare", "exit 0\n"), ("lost", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(first_line)
        (tmp_path / name).chmod(0o755)
    bare = finish(launcher, Command(("./bare",), folder=tmp_path))
    lost = finish(launcher, Command(("./lost",), folder=tmp_path))
    assert bare.detail == "not a program, and a script without '#!' in its first line: ./bare"
    assert lost.detail == "missing interpreter of: ./lost"


def test_a_command_sees_nothing_of_its_supervisor(launcher: Launcher, solver: Solver) -> None:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    try:
        lines = finish(launcher, solver("descriptors")).output.decode().splitlines()
    finally:
        os.close(descriptor)
    assert lines == ["['0', '1', '2', '3']", "b''", "{'SIGPIPE'}"]  # 3 lists them; Python ignores SIGPIPE


def test_large_requests_arrive(launcher: Launcher, tmp_path: Path) -> None:
    argument, variable = "x" * 100_000, "y" * 100_000
    program = (sys.executable, "-S", str(Path(__file__).parent / "solvers.py"), "sizes", *[argument] * 5)
    ended = finish(launcher, Command(program, environment={"LARGE": variable}, folder=tmp_path))
    assert ended.output.decode() == f"{[100_000] * 5} 100000 {tmp_path}\n"


def test_gigabytes_of_output_are_let_go(launcher: Launcher, solver: Solver) -> None:
    run = launcher.start(solver("chatter"), ResourceLimits(cpu=0.3), keep_output=1000)
    wait_for(lambda: busy(launcher))
    (supervisor,) = busy(launcher)
    before = tree.memory_held([supervisor]).now
    peak = 0
    while (ended := run.wait(timeout=0.02)) is None:
        peak = max(peak, tree.memory_held([supervisor]).now)
    assert (ended.ending, ended.output_truncated) == (Ending.CPU_LIMIT, True)
    assert ended.output == b"c " + b"x" * 998
    assert len(ended.errors) == 2**16
    assert peak <= before + 20 * 2**20


@pytest.mark.parametrize(
    ("keep", "kept", "truncated"), [(3, b"sol", True), (7, b"solved\n", False), (0, b"", True)]
)
def test_exactly_the_beginning_is_kept(launcher: Launcher, keep: int, kept: bytes, truncated: bool) -> None:
    ended = finish(launcher, Command(("echo", "solved")), keep=keep)
    assert (ended.output, ended.output_truncated) == (kept, truncated)


def test_megabytes_are_kept_whole(launcher: Launcher) -> None:
    ended = finish(launcher, Command(("head", "-c", "5000000", "/dev/zero")), keep=2**24)
    assert (ended.output, ended.output_truncated) == (b"\0" * 5_000_000, False)


def test_a_solver_may_close_its_streams(launcher: Launcher, solver: Solver) -> None:
    ended = finish(launcher, solver("closed_streams"), ResourceLimits(cpu=60))
    assert (ended.ending, ended.exit_code) == (Ending.FINISHED, 10)


def test_runs_can_be_selected_on(launcher: Launcher, solver: Solver) -> None:
    slow, fast = (
        launcher.start(solver("sleep"), ResourceLimits()),
        launcher.start(solver("leave", 0), ResourceLimits()),
    )
    ready, _, _ = select.select([slow, fast], [], [], 60)
    assert ready == [fast]
    slow.cancel()
    assert [run.wait() is None for run in (slow, fast)] == [False, False]


def test_closing_cancels_and_leaves_nothing(solver: Solver, mark: str) -> None:
    launcher = Launcher()
    run = launcher.start(solver("detached", "spin"), ResourceLimits())
    wait_for(lambda: len(alive(mark)) >= 3)
    server = launcher._servers[""]
    launcher.close()
    ended = run.wait()
    assert ended is not None
    assert ended.ending == Ending.CANCELLED
    assert server.process.returncode == 0
    assert server.base is None or not server.base.exists()
    assert alive(mark) == []
    with pytest.raises(LiveError, match="closed"):
        launcher.start(solver("spin"), ResourceLimits())
    launcher.close()


def test_closing_at_once_is_not_an_error() -> None:
    for _ in range(3):
        with Launcher() as launcher:
            assert "(" in launcher.method
            server = launcher._servers[""]
        assert server.process.returncode == 0


def test_nothing_is_started_before_it_is_needed() -> None:
    with Launcher() as launcher:
        assert launcher._servers == {}


def test_a_module_that_cannot_be_preloaded() -> None:
    with Launcher(preload=("no_such_module",)) as launcher, pytest.raises(LiveError) as caught:
        launcher.start(Command(("true",)), ResourceLimits())
    assert str(caught.value) == "cannot preload no_such_module: No module named 'no_such_module'"


def test_signals_ignored_by_tailcut_are_not_ignored_by_its_children(solver: Solver) -> None:
    """A process that ignores SIGCHLD could not wait for its children, and hands that on."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        launcher = Launcher()
        ended = finish(launcher, solver("descriptors"))
        launcher.close()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ended.output.endswith(b"{'SIGPIPE'}\n")


def test_other_systems_can_import_it() -> None:
    code = "import sys; sys.modules |= {'resource': None, 'fcntl': None}; import tailcut.live.limits"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_systems_are_told_at_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with Launcher() as launcher, pytest.raises(UnsupportedSystemError, match="needs Linux, this is darwin"):
        launcher.start(Command(("true",)), ResourceLimits())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ResourceLimits(cpu=0),
        lambda: ResourceLimits(cpu=float("nan")),
        lambda: ResourceLimits(wall=float("inf")),
        lambda: ResourceLimits(memory=-1),
        lambda: ResourceLimits(memory=1.5),  # type: ignore[arg-type]
        lambda: Command(()),
        lambda: Command("minisat"),  # type: ignore[arg-type]
        lambda: Command(("a\0b",)),
        lambda: Command(("a",), environment={"A=B": "c"}),
        lambda: Call("module"),
        lambda: Call("1:f"),
        lambda: Launcher(preload="numpy"),
        lambda: Launcher().start(Command(("true",)), ResourceLimits(), keep_output=-1),
    ],
)
def test_wrong_values_are_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(InputError):
        wrong()
