"""One file over HTTP: into ``NAME.part``, from where an earlier attempt broke off, then to its name."""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any

from tailcut.errors import DownloadError

ByteProgress = Callable[[int, int | None], None]
"""Called with the bytes available, and their number in all if that is known."""

ATTEMPTS = 3
_CHUNK = 1 << 16
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Allowance:
    """What all downloads of one call may take together: bytes, and seconds from now on."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._end = time.monotonic() + seconds

    def left(self, url: str) -> float:
        """Return the seconds that are left; raise if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise DownloadError(f"{url}: not fetched within {self._seconds:g} s; run again to resume")
        return seconds

    def check_size(self, url: str, size: int) -> None:
        """Raise if a file of this size, or of more, is too large."""
        if size > self._size:
            raise TooLargeError(f"{url}: is larger than the limit, with what came before: {self._size} bytes")

    def used(self, size: int) -> None:
        """Take off what a file took."""
        self._size -= size


class TooLargeError(DownloadError):
    """A file is larger than what may be fetched."""


class NotThere(DownloadError):  # noqa: N818 (an answer, not a failure, where the file is optional)
    """The server answered that there is no such file."""


class _BrokenOffError(DownloadError):
    """The connection ended before the file did."""


def download(
    url: str, target: Path, timeout: float, progress: ByteProgress | None, allowance: Allowance
) -> None:
    """Fetch `url` into `target`; what broke off is resumed, here up to twice, and by a later call."""
    part = target.with_name(target.name + ".part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _attempt(url, part, timeout, progress, allowance)
        except _BrokenOffError:
            if attempt == ATTEMPTS:
                raise
        except TooLargeError:
            part.unlink(missing_ok=True)
            raise
        else:
            allowance.used(part.stat().st_size)
            part.replace(target)
            return


def _attempt(
    url: str, part: Path, timeout: float, progress: ByteProgress | None, allowance: Allowance
) -> None:
    """Fetch what `part` does not hold yet; return once it is whole."""
    tag_file = part.with_name(part.name + ".etag")
    start = part.stat().st_size if part.exists() else 0
    tag = tag_file.read_text("latin-1") if start and tag_file.exists() else ""
    try:
        with _in_time(lambda: _open(url, start, tag, timeout), url, allowance) as response:
            start, total = _where(url, response, start)
            allowance.check_size(url, total or 0)
            tag_file.write_text(response.headers.get("ETag") or "", "latin-1")
            _save(url, response, part, start, total, progress, allowance)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:  # the file there is no longer than what is here: start over
            part.unlink()
            raise _BrokenOffError(f"{url}: has changed since it was partly fetched") from None
        if error.code in (404, 410):
            raise NotThere(f"{url}: not found ({error.code})") from None
        raise DownloadError(f"{url}: the server answered {error.code} {error.reason}") from None
    except http.client.HTTPException as error:
        raise _BrokenOffError(f"{url}: the answer broke off ({type(error).__name__})") from None
    tag_file.unlink(missing_ok=True)


def _in_time(ask: Callable[[], Any], url: str, allowance: Allowance) -> Any:
    """Return what `ask` does, if it is in time: headers may come drop by drop, each within its timeout."""
    found: Future[Any] = Future()

    def wait() -> None:
        try:
            response = ask()
        except BaseException as error:
            found.set_exception(error)
            return
        try:
            found.set_result(response)
        except InvalidStateError:  # too late
            response.close()

    threading.Thread(target=wait, daemon=True).start()
    try:
        return found.result(allowance.left(url))
    except TimeoutError:
        if found.done():  # a timeout of its own
            raise
        found.cancel()
        allowance.left(url)
        raise


def _open(url: str, start: int, tag: str, timeout: float) -> Any:
    """Return the server's answer to a request for the bytes from `start` on."""
    headers = {"User-Agent": "tailcut", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if tag:
            headers["If-Range"] = tag  # a file that has changed meanwhile is then sent whole
    try:
        request = urllib.request.Request(url, headers=headers)
        return urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError:
        raise
    except (http.client.InvalidURL, ValueError) as error:
        raise DownloadError(f"{url}: is not a usable URL: {error}") from None
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            reason = f"no answer within {timeout:g} s"
        raise DownloadError(f"{url}: cannot be reached: {reason}") from None


def _where(url: str, response: Any, start: int) -> tuple[int, int | None]:
    """Return the position that the answer starts at, and the size of the whole file if it is given."""
    length = response.headers.get("Content-Length")
    size = int(length) if length and length.isdigit() else None
    if response.status != 206:
        return 0, size  # the server knows no ranges, or the file has changed: all of it comes
    given = _RANGE.fullmatch(response.headers.get("Content-Range") or "")
    if given is None or int(given[1]) != start:
        raise DownloadError(f"{url}: asked for the bytes from {start} on, the server sent others")
    return start, start + size if size is not None else None if given[2] == "*" else int(given[2])


def _save(
    url: str,
    response: Any,
    part: Path,
    start: int,
    total: int | None,
    progress: ByteProgress | None,
    allowance: Allowance,
) -> None:
    """Write the answer's body into `part` from `start` on, and check that all of it came."""
    done = start
    # Opened for update and positioned, not for appending: two fetches at once write the same bytes
    # to the same places instead of one after the other.
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        while True:
            try:
                chunk = response.read1(_CHUNK)  # what is there: a slow server must not hold up the clock
            except (TimeoutError, ConnectionError) as error:
                raise _BrokenOffError(f"{url}: the connection ended after {done} bytes: {error}") from None
            if not chunk:
                break
            file.write(chunk)
            done += len(chunk)
            allowance.check_size(url, done)
            allowance.left(url)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise _BrokenOffError(f"{url}: ended after {done} of {total} bytes; run again to resume")
