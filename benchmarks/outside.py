"""Instances from outside this project: fetch them from Debian's source packages, run them, judge the answers.

    python benchmarks/outside.py fetch outside                # needs apt; 100 MB, nothing is installed
    python benchmarks/outside.py run outside smt --count 200 --cutoff 2

`fetch` downloads the sources of solvers with a package list of its own (the machine's mirror, with the suites
given) and unpacks the instances that they are tested with. `run` serves a random sample of them with
`tailcut_schedule`, with `tailcut` and with each solver alone, and compares all answers with each other and
with what the scripts say of themselves (`:status`). The files stay under their packages' licences: keep them
out of this repository.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from itertools import combinations
from pathlib import Path

from tailcut.domains import find_domain
from tailcut.domains.domain import answers_agree, find_solvers

SOURCES = {
    "smt": ("cvc5", "cbmc", "z3"),
    "sat": ("kissat", "cadical", "cryptominisat", "glpk"),
    "mip": ("highs", "coinor-dylp", "glpk", "coinor-cgl", "coinor-symphony", "coinor-cbc"),
    "csp": ("minizinc", "gecode"),
}
"""Domain -> Debian's source packages with its instances."""
ENDINGS = {
    "smt": (".smt2",),
    "sat": (".cnf",),
    "mip": (".mps", ".mps.gz", ".lp"),
    "csp": (".mzn", ".fzn"),
}
_STATUS = re.compile(r"\(\s*set-info\s+:status\s+(\w+)")


def fetch(folder: Path, suites: list[str]) -> None:
    """Download the sources and unpack their instances into a folder per package."""
    apt = _own_apt(folder / "apt", suites)
    for package in sorted({one for packages in SOURCES.values() for one in packages}):
        _fetch_package(package, folder, apt)


def _own_apt(folder: Path, suites: list[str]) -> dict[str, str]:
    """Return an environment in which apt has its own lists: the machine's mirror, with sources."""
    target = ["apt-get", "indextargets", "--format", "$(SITE)|$(SUITE)|$(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(target, capture_output=True, text=True, check=True).stdout.splitlines()
    mirror = next(line.split("|")[2] for line in lines if line.split("|")[2].rstrip("/").endswith("/debian"))
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "own.sources").write_text(
        f"Types: deb-src\nURIs: {mirror}\nSuites: {' '.join(suites)}\nComponents: main\nSigned-By: {key}\n"
    )
    own = folder.resolve()
    (folder / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{own}/own.sources";\nDir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{own}/lists";\nDir::Cache "{own}/cache";\n'
    )
    environment = {**os.environ, "APT_CONFIG": str(own / "apt.conf")}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=True)
    return environment


def _fetch_package(package: str, folder: Path, apt: dict[str, str]) -> None:
    """Download the newest version of a package that the mirror has, and unpack its instances."""
    shown = subprocess.run(["apt-cache", "showsrc", package], env=apt, capture_output=True, text=True).stdout
    versions = re.findall(r"^Version: (\S+)", shown, re.M)
    where = folder / "sources" / package
    where.mkdir(parents=True, exist_ok=True)
    for version in reversed(versions):
        ask = ["apt-get", "source", "-qq", "--download-only", "--tar-only", f"{package}={version}"]
        if subprocess.run(ask, env=apt, cwd=where, capture_output=True).returncode == 0:
            break
    archives = [one for one in where.glob("*.orig.tar.*") if one.suffix != ".asc"]
    endings = tuple(ending for group in ENDINGS.values() for ending in group)
    for archive in archives:
        with tarfile.open(archive) as opened:
            members = [one for one in opened.getmembers() if one.isfile() and one.name.endswith(endings)]
            opened.extractall(folder / "files" / package, members, filter="data")
        print(f"{archive.name}: {len(members)} instances")
    if not archives:
        print(f"{package}: not to be had of {', '.join(versions) or 'no version'}")


def sample(folder: Path, domain: str, count: int) -> list[Path]:
    """Return so many different instances of a domain, the same ones every time."""
    found = [
        path
        for package in SOURCES[domain]
        for path in sorted((folder / "files" / package).rglob("*"))
        if path.is_file() and path.name.endswith(ENDINGS[domain])
    ]
    random.Random(0).shuffle(found)
    different = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in reversed(found)}
    return [path for path in found if path in set(different.values())][:count]


def run(folder: Path, domain: str, count: int, cutoff: float, jobs: int) -> None:
    """Serve a sample in several ways, and print what came out."""
    files = sample(folder, domain, count)
    solvers = list(find_solvers(find_domain(domain)))
    work = folder / "runs" / domain
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "list").write_text("".join(f"{path.resolve()}\n" for path in files))
    answers: dict[str, dict[str, str]] = {}
    print(f"{len(files)} {domain} instances, cutoff {cutoff:g} s, load {os.getloadavg()[0]:.1f}")
    for name in ("tailcut_schedule", "tailcut", *solvers):
        answers[name] = _served(work, domain, name, [name] if name in solvers else solvers, cutoff, jobs)
    _judge(files, {name: answers[name] for name in solvers}, answers)


def _served(
    work: Path, domain: str, name: str, solvers: list[str], cutoff: float, jobs: int
) -> dict[str, str]:
    """Serve the list with some solvers; return the answers by instance."""
    portfolio = work / f"{name}.toml"
    tables = "\n".join(f"[solvers.{solver}]" for solver in solvers)
    portfolio.write_text(f'domain = "{domain}"\ncutoff = {cutoff}\n{tables}\n')
    command = [sys.executable, "-m", "tailcut", "run", str(portfolio), "-", "--jobs", str(jobs), "--json"]
    command += ["--state", str(work / f"{name}.db")]
    if len(solvers) > 1:
        command += ["--selector", name]
    with (work / "list").open() as stdin, (work / f"{name}.err").open("w") as errors:
        ended = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    lines = [line for line in lines if "instance" in line]
    solved = {line["instance"]: line["answer"] for line in lines if line["answer"] is not None}
    par10 = sum(line["seconds"] if line["answer"] is not None else 10 * cutoff for line in lines)
    aside = [line for line in (work / f"{name}.err").read_text().splitlines() if "put aside" in line]
    print(
        f"{name:18} solved {len(solved):4} of {len(lines)}, PAR10 {par10 / max(len(lines), 1):6.2f} s"
        + (f", exit code {ended.returncode}" if ended.returncode else ""),
        *dict.fromkeys(aside),
        sep="\n    ",
        flush=True,
    )
    return solved


def _judge(files: list[Path], alone: dict[str, dict[str, str]], all_: dict[str, dict[str, str]]) -> None:
    """Print who contradicts whom, and who contradicts what a script says of itself."""
    contradictions, status = Counter[str](), Counter[str]()
    for path in files:
        name = str(path.resolve())
        said = {solver: answers[name] for solver, answers in alone.items() if name in answers}
        for one, other in combinations(said, 2):
            if not answers_agree(said[one], said[other]):
                contradictions[path.name] += 1
                print(f"{path.name}: {one} says {said[one]}, {other} says {said[other]}")
        known = _STATUS.findall(path.read_text(errors="replace")) if path.suffix == ".smt2" else []
        if len(known) == 1 and known[0] in ("sat", "unsat"):
            for solver, answers in all_.items():
                if answers.get(name) in ("sat", "unsat"):
                    right = answers[name] == known[0]
                    status["agree" if right else "contradict"] += 1
                    if not right:
                        print(f"{path.name}: {solver} says {answers[name]}, the script {known[0]}")
    print(f"instances on which solvers contradict each other: {len(contradictions)}")
    if status:
        print(
            f"answers that agree with :status: {status['agree']}, that contradict it: {status['contradict']}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch")
    fetching.add_argument("folder", type=Path)
    fetching.add_argument("--suites", nargs="+", default=["bookworm", "trixie"])
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("domain", choices=sorted(SOURCES))
    running.add_argument("--count", type=int, default=200)
    running.add_argument("--cutoff", type=float, default=2.0)
    running.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.command == "fetch":
        fetch(given.folder, given.suites)
    else:
        run(given.folder, given.domain, given.count, given.cutoff, given.jobs)


if __name__ == "__main__":
    main()
