"""Control groups, version 2: the kernel keeps the processes of a run together, counts and ends them.

Where the memory controller is available, it also holds them to a limit of memory. A group can be created if
the folder of this process's own group, or of that group's parent, is writable: as root, in a delegated
systemd unit (`systemd-run --user --scope`), in some containers. This is tested by trying it.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from tailcut.live.limits.tree import die_with_parent, kill


class Group:
    """One run's group: what `tree` does for the processes below this one, implemented by the kernel."""

    def __init__(self, folder: Path, memory: int | None) -> None:
        folder.mkdir()
        self.folder = folder
        self.enforces_memory = memory is not None and self._limit_memory(memory)
        self._cpu_stat = os.open(folder / "cpu.stat", os.O_RDONLY)

    def _limit_memory(self, memory: int) -> bool:
        try:
            (self.folder / "memory.max").write_text(str(memory))
        except OSError:
            return False
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with suppress(OSError):  # no swap, or an older kernel
                (self.folder / name).write_text(value)
        return True

    def join(self) -> None:
        procs = os.open(f"{self.folder}/cgroup.procs", os.O_WRONLY)
        os.write(procs, b"0")
        os.close(procs)

    def processes(self) -> list[int]:
        return [int(line) for line in (self.folder / "cgroup.procs").read_text().split()]

    def cpu(self) -> float:
        """Return the CPU seconds used in the group so far: never too high, at most a tick too low."""
        text = os.pread(self._cpu_stat, 4096, 0)
        return int(text.split(maxsplit=2)[1]) / 1e6

    def waited(self) -> float:
        """Return the seconds in which some process of the group was ready and had no processor, if known."""
        with suppress(OSError, ValueError, IndexError):
            line = (self.folder / "cpu.pressure").read_text().split("\n", 1)[0]
            return int(line.rpartition("total=")[2]) / 1e6
        return 0.0

    def ran_out_of_memory(self) -> bool:
        with suppress(OSError):
            events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
            return int(events.get("oom_kill", "0")) > 0
        return False

    def peak_memory(self) -> int | None:
        """Return the peak of the group's memory, if the kernel records it (Linux 5.19)."""
        with suppress(OSError):
            return int((self.folder / "memory.peak").read_text())
        return None

    def remove(self) -> None:
        """Remove the group, which must be empty, with those that a solver made in it (as Tailcut would)."""
        os.close(self._cpu_stat)
        _remove(self.folder)


def end_group(folder: Path) -> None:
    """End every process in a group, if the group still exists."""
    try:
        (folder / "cgroup.kill").write_text("1")
    except OSError:  # Linux before 5.14
        with suppress(OSError):
            for process in (folder / "cgroup.procs").read_text().split():
                kill(int(process))


def _remove(folder: Path) -> None:
    for inner, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(inner).rmdir()


def remove_all(base: Path) -> None:
    for _ in range(100):
        end_group(base)
        _remove(base)
        if not base.exists():
            break
        time.sleep(0.01)  # processes take a moment to die


def make_base() -> Path | None:
    candidates = []
    for parent in _writable_groups():
        base = parent / f"tailcut-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            base.mkdir()
        except OSError:
            continue
        with suppress(OSError):
            (base / "cgroup.subtree_control").write_text("+memory")
        if _works(base):
            candidates.append(base)
        else:
            remove_all(base)
    candidates.sort(key=has_memory, reverse=True)
    for base in candidates[1:]:
        remove_all(base)
    return candidates[0] if candidates else None


def has_memory(base: Path) -> bool:
    return "memory" in (base / "cgroup.subtree_control").read_text().split()


def _writable_groups() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(line[3:] for line in lines if line.startswith("0::"))
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except (OSError, StopIteration):
        return []
    for fields in mounts:
        if fields[fields.index("-") + 1] == "cgroup2":
            root, mounted = fields[3], Path(os.fsencode(fields[4]).decode("unicode_escape"))
            inside = os.path.relpath(own, root)
            if inside.startswith(".."):
                continue  # mounted from a place without our group
            folder = mounted / inside
            folders = [folder] if folder == mounted else [folder, folder.parent]
            return [place for place in folders if os.access(place, os.W_OK)]
    return []


def _works(base: Path) -> bool:
    """Try whether a process can be put into a group below `base`, be counted there, and be ended."""
    try:
        group = Group(base / "trial", memory=None)
    except OSError:
        return False
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            die_with_parent(parent)
            group.join()
            signal.pause()
        finally:
            os._exit(1)
    ended = _is_counted_and_killed(child, group)
    if not ended:
        kill(child)
        os.waitpid(child, 0)
    group.remove()
    return ended and not group.folder.exists()


def _is_counted_and_killed(child: int, group: Group) -> bool:
    try:
        while child not in group.processes():
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return False  # it could not join
        group.cpu()
        end_group(group.folder)
    except (OSError, ValueError, IndexError):
        return False
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
