"""Fetching a scenario's files from the ASlib repository: resumed, checked, and not fetched twice.

A file arrives as ``NAME.part`` and gets its name once it is whole. The manifest keeps the SHA-256 and size
of each; a second run recomputes them and asks the network only for what is missing or has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.errors import DownloadError, InputError
from tailcut.scenarios.aslib_reader import OPTIONAL, REQUIRED
from tailcut.scenarios.cache import user_cache
from tailcut.scenarios.download import Allowance, NotThere, download

BASE_URL = "https://raw.githubusercontent.com/coseal/aslib_data/master"
MANIFEST = "manifest.json"
MAX_BYTES = 10**9
"""Of a scenario, all files together; the largest of ASlib has a tenth of that."""
MAX_SECONDS = 1800.0
"""For all of them, however slowly they come."""
EXTRAS = ("readme.txt", "citation.bib")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

FetchProgress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes available, and their number in all if that is known."""


def fetch(
    name: str,
    *,
    to: str | os.PathLike[str] | None = None,
    base_url: str = BASE_URL,
    timeout: float = 30.0,
    progress: FetchProgress | None = None,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
) -> Path:
    """Fetch the scenario `name` and return its folder, `to`/`name` or one in the user's cache.

    `timeout` is how long the server may be silent. More than `max_bytes`, or longer than `max_seconds` in
    all, is an error; what is whole by then stays.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"a scenario's name has letters, digits, '.', '_' and '-' only, got {name!r}")
    if not base_url.startswith(("http://", "https://")):
        raise InputError(f"base URL must start with http:// or https://, got {base_url!r}")
    folder = (user_cache() / "scenarios" if to is None else Path(to)) / name
    source = f"{base_url.rstrip('/')}/{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _fetch_all(folder, source, timeout, progress, Allowance(max_bytes, max_seconds))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()  # goes only if it is empty: nothing at all was fetched
        if isinstance(error, DownloadError):
            raise
        raise DownloadError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return folder


def _fetch_all(
    folder: Path, source: str, timeout: float, progress: FetchProgress | None, allowance: Allowance
) -> None:
    manifest = _read_manifest(folder, source)
    for file in (*REQUIRED, *OPTIONAL, *EXTRAS):
        known = manifest["files"].get(file)
        if file in manifest["absent"] or (known is not None and known == _summary(folder / file)):
            continue
        url = f"{source}/{file}"
        try:
            heard = None if progress is None else partial(progress, file)
            download(url, folder / file, timeout, heard, allowance)
            manifest["files"][file] = _summary(folder / file)
        except NotThere:
            if file in REQUIRED:
                raise DownloadError(f"{url}: not found (404); is the scenario's name right?") from None
            manifest["absent"].append(file)
        _write_manifest(folder, manifest)


def _read_manifest(folder: Path, source: str) -> dict[str, Any]:
    """Return what is known about the folder; nothing if the manifest is damaged or of another source."""
    empty: dict[str, Any] = {"source": source, "files": {}, "absent": []}
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return empty
    wanted = isinstance(manifest, dict) and manifest.get("source") == source
    if (
        not wanted
        or not isinstance(manifest.get("files"), dict)
        or not isinstance(manifest.get("absent"), list)
    ):
        return empty
    return manifest


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    statefile.write(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def _summary(path: Path) -> dict[str, Any] | None:
    """Return the digest and size of a file, or None if it is not there."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
