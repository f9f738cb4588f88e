"""Fetching a scenario's files from the ASlib repository: resumed, checked, and not fetched twice.

A file arrives as ``NAME.part``, from where an earlier attempt broke off, and gets its name once it is whole.
The manifest keeps the SHA-256 and size of each; a second run recomputes them and asks the network only for
what is missing or has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tailcut import state as statefile
from tailcut.errors import DownloadError, InputError
from tailcut.scenarios.aslib_reader import OPTIONAL, REQUIRED
from tailcut.scenarios.cache import user_cache

BASE_URL = "https://raw.githubusercontent.com/coseal/aslib_data/master"
MANIFEST = "manifest.json"
MAX_BYTES = 10**9
"""Of a scenario, all files together; the largest of ASlib has a tenth of that."""
MAX_SECONDS = 1800.0
"""For all of them, however slowly they come."""
EXTRAS = ("readme.txt", "citation.bib")
ATTEMPTS = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")

FetchProgress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes available, and their number in all if that is known."""


class _NotThereError(DownloadError):
    """The server answered that there is no such file."""


class _BrokenOffError(DownloadError):
    """The connection ended before the file did."""


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
    downloads = _Downloads(timeout, progress, max_bytes, max_seconds)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _fetch_all(folder, f"{base_url.rstrip('/')}/{name}", downloads)
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()  # goes only if it is empty: nothing at all was fetched
        if isinstance(error, DownloadError):
            raise
        raise DownloadError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return folder


def _fetch_all(folder: Path, source: str, downloads: _Downloads) -> None:
    manifest = _read_manifest(folder, source)
    for file in (*REQUIRED, *OPTIONAL, *EXTRAS):
        recorded = manifest["files"].get(file)
        if file in manifest["absent"] or (recorded is not None and recorded == _summary(folder / file)):
            continue
        url = f"{source}/{file}"
        try:
            downloads.download(url, folder / file)
            manifest["files"][file] = _summary(folder / file)
        except _NotThereError:
            if file in REQUIRED:
                raise DownloadError(f"{url}: not found (404); is the scenario's name right?") from None
            manifest["absent"].append(file)
        statefile.write(folder / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def _read_manifest(folder: Path, source: str) -> dict[str, Any]:
    """Return what is known about the folder; nothing if the manifest is damaged or of another source."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if isinstance(manifest, dict) and manifest.get("source") == source:
            kinds = type(manifest.get("files")), type(manifest.get("absent"))
            if kinds == (dict, list):
                return manifest
    return {"source": source, "files": {}, "absent": []}


def _summary(path: Path) -> dict[str, Any] | None:
    """Return the digest and size of a file, or None if it is not there."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


class _Downloads:
    """Downloads that together may take so many bytes, and so many seconds from now on."""

    def __init__(
        self, timeout: float, progress: FetchProgress | None, max_bytes: int, max_seconds: float
    ) -> None:
        self._timeout, self._progress = timeout, progress
        self._bytes_left, self._seconds = max_bytes, max_seconds
        self._end = time.monotonic() + max_seconds

    def download(self, url: str, target: Path) -> None:
        """Fetch `url` into `target`; what broke off is resumed, here up to twice, and by a later call."""
        part = target.with_name(target.name + ".part")
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._attempt(url, part)
            except _BrokenOffError:
                if attempt == ATTEMPTS:
                    raise
            else:
                self._bytes_left -= part.stat().st_size
                part.replace(target)
                return

    def _attempt(self, url: str, part: Path) -> None:
        """Fetch what `part` does not hold yet; return once it is whole."""
        tag_file = part.with_name(part.name + ".etag")
        start = part.stat().st_size if part.exists() else 0
        headers = {"User-Agent": "tailcut", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            tag = tag_file.read_text("latin-1") if tag_file.exists() else ""
            if tag:
                headers["If-Range"] = tag  # a file that has changed meanwhile is then sent whole
        try:
            with self._open(url, headers) as response:
                start, total = _extent(url, response, start)
                self._check_size(url, total or 0, part)
                tag_file.write_text(response.headers.get("ETag") or "", "latin-1")
                self._save(url, response, part, start, total)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and start:  # the file there is no longer than what is here: start over
                part.unlink()
                raise _BrokenOffError(f"{url}: has changed since it was partly fetched") from None
            if error.code in (404, 410):
                raise _NotThereError(f"{url}: not found ({error.code})") from None
            raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from None
        except http.client.HTTPException as error:
            raise _BrokenOffError(f"{url}: the answer broke off ({type(error).__name__})") from None
        tag_file.unlink(missing_ok=True)

    def _open(self, url: str, headers: dict[str, str]) -> Any:
        """Return the answer if it begins in time: headers may come drop by drop, each within the timeout."""
        answer: Future[Any] = Future()

        def ask() -> None:
            try:
                request = urllib.request.Request(url, headers=headers)
                answer.set_result(urllib.request.urlopen(request, timeout=self._timeout))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return answer.result(self._seconds_left(url))
        except urllib.error.HTTPError:
            raise
        except (http.client.InvalidURL, ValueError) as error:
            raise DownloadError(f"{url}: is not a usable URL: {error}") from None
        except OSError as error:
            self._seconds_left(url)
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                reason = f"no answer within {self._timeout:g} s"
            raise DownloadError(f"{url}: cannot be reached: {reason}") from None

    def _save(self, url: str, response: Any, part: Path, start: int, total: int | None) -> None:
        """Write the answer's body into `part` from `start` on, and check that all of it came."""
        done = start
        # Opened for update and positioned, not for appending: two fetches at once write the same bytes
        # to the same places instead of one after the other.
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            while True:
                try:
                    chunk = response.read1(1 << 16)  # what is there: a slow server must not hold up the clock
                except (TimeoutError, ConnectionError) as error:
                    raise _BrokenOffError(
                        f"{url}: the connection ended after {done} bytes: {error}"
                    ) from None
                if not chunk:
                    break
                file.write(chunk)
                done += len(chunk)
                self._check_size(url, done, part)
                self._seconds_left(url)
                if self._progress is not None:
                    self._progress(url.rpartition("/")[2], done, total)
        if total is not None and done != total:
            raise _BrokenOffError(f"{url}: ended after {done} of {total} bytes; run again to resume")

    def _seconds_left(self, url: str) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise DownloadError(f"{url}: not fetched within {self._seconds:g} s; run again to resume")
        return seconds

    def _check_size(self, url: str, size: int, part: Path) -> None:
        if size > self._bytes_left:
            part.unlink(missing_ok=True)
            raise DownloadError(
                f"{url}: is larger than the limit, with what came before: {self._bytes_left} bytes"
            )


def _extent(url: str, response: Any, start: int) -> tuple[int, int | None]:
    """Return the position that the answer starts at, and the size of the whole file if it is given."""
    length = response.headers.get("Content-Length")
    size = int(length) if length and length.isdigit() else None
    if response.status != 206:
        return 0, size  # the server knows no ranges, or the file has changed: all of it comes
    given = _RANGE.fullmatch(response.headers.get("Content-Range") or "")
    if given is None or int(given[1]) != start:
        raise DownloadError(f"{url}: asked for the bytes from {start} on, the server sent others")
    return start, start + size if size is not None else None if given[2] == "*" else int(given[2])
