"""Fetching a scenario's files from the ASlib repository: checked, and not fetched twice.

The manifest keeps the SHA-256 and size of each file that is there; a second run recomputes them and asks the
network only for what is missing or has changed.
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
    all, is an error; the files that are whole by then stay.
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
        if file in manifest["absent"]:
            continue
        if recorded and (folder / file).exists() and _summary((folder / file).read_bytes()) == recorded:
            continue
        url = f"{source}/{file}"
        data = downloads.get(url)
        if data is None and file in REQUIRED:
            raise DownloadError(f"{url}: not found; is the scenario's name right?")
        if data is None:
            manifest["absent"].append(file)
        else:
            statefile.write(folder / file, data)
            manifest["files"][file] = _summary(data)
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


def _summary(data: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


class _Downloads:
    """Downloads that together may take so many bytes, and so many seconds from now on."""

    def __init__(
        self, timeout: float, progress: FetchProgress | None, max_bytes: int, max_seconds: float
    ) -> None:
        self._timeout, self._progress = timeout, progress
        self._bytes_left, self._seconds = max_bytes, max_seconds
        self._end = time.monotonic() + max_seconds

    def get(self, url: str) -> bytes | None:
        """Return what is at `url`, None if that is nothing; what broke off is fetched again, up to twice."""
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                with self._open(url) as response:
                    data = self._body(url, response)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code in (404, 410):
                    return None
                raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from None
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                reason = str(error) or type(error).__name__
            else:
                self._bytes_left -= len(data)
                return data
        raise DownloadError(f"{url}: broke off ({reason}); run again to go on")

    def _open(self, url: str) -> Any:
        """Return the answer if it begins in time: headers may come drop by drop, each within the timeout."""
        answer: Future[Any] = Future()

        def ask() -> None:
            try:
                headers = {"User-Agent": "tailcut", "Accept-Encoding": "identity"}
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

    def _body(self, url: str, response: Any) -> bytes:
        length = response.headers.get("Content-Length") or ""
        total = int(length) if length.isdigit() else None
        data = bytearray()
        self._check_size(url, total or 0)
        while chunk := response.read1(1 << 16):  # what is there: a slow server must not hold up the clock
            data += chunk
            self._check_size(url, len(data))
            self._seconds_left(url)
            if self._progress is not None:
                self._progress(url.rpartition("/")[2], len(data), total)
        if total is not None and len(data) != total:
            raise ConnectionError(f"{len(data)} of {total} bytes came")
        return bytes(data)

    def _seconds_left(self, url: str) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise DownloadError(f"{url}: not fetched within {self._seconds:g} s; run again to go on")
        return seconds

    def _check_size(self, url: str, size: int) -> None:
        if size > self._bytes_left:
            raise DownloadError(
                f"{url}: is larger than the limit, with what came before: {self._bytes_left} bytes"
            )
