"""Fetching, against a real HTTP server on this machine that can also misbehave."""

from __future__ import annotations

import hashlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailcut.errors import DownloadError, InputError
from tailcut.scenarios import Scenario
from tailcut.scenarios.fetch import MANIFEST, fetch


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; `mode` says how; `asked` lists path and status of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.mode = "well"
        self.break_on = "/small/description.txt"
        self.breaks_left = 0
        self.asked: list[tuple[str, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about connections that tests break off."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        body = server.files.get(self.path, b"")
        status = 503 if server.mode == "error" else 200 if body else 404
        server.asked.append((self.path, status))
        self.send_response(status)
        if server.mode != "no length":
            self.send_header("Content-Length", str(len(body)))
        if server.mode == "slow headers":
            self.flush_headers()
            for _ in range(100):
                self.wfile.write(b"X")
                time.sleep(0.1)
        self.end_headers()
        if server.mode == "slow body":
            for position in range(len(body)):
                self.wfile.write(body[position : position + 1])
                self.wfile.flush()
                time.sleep(0.1)
        elif server.breaks_left and self.path == server.break_on:
            server.breaks_left -= 1
            self.wfile.write(body[:100])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def server(small_files: dict[str, bytes]) -> Iterator[Server]:
    with Server() as running:
        running.files = {f"/small/{name}": data for name, data in small_files.items()}
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_scenario_is_fetched_and_reads(server: Server, small: Scenario, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    folder = fetch("small", to=tmp_path, base_url=server.url + "/", progress=lambda *what: seen.append(what))
    assert folder == tmp_path / "small"
    assert Scenario.read(folder) == small
    assert not list(folder.glob("*.part*"))
    size = len(server.files["/small/description.txt"])
    assert ("description.txt", size, size) in seen


def test_the_manifest_keeps_digests_and_a_second_run_asks_for_nothing(
    server: Server, small_files: dict[str, bytes], tmp_path: Path
) -> None:
    folder = fetch("small", to=tmp_path, base_url=server.url)
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["source"] == f"{server.url}/small"
    assert manifest["files"] == {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in small_files.items()
    }
    assert set(manifest["absent"]) == {"cv.arff", "ground_truth.arff", "readme.txt", "citation.bib"}
    asked = len(server.asked)
    fetch("small", to=tmp_path, base_url=server.url)
    assert len(server.asked) == asked


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_a_file_that_changed_or_went_is_fetched_again(server: Server, damage: str, tmp_path: Path) -> None:
    folder = fetch("small", to=tmp_path, base_url=server.url)
    path = folder / "algorithm_runs.arff"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"1.5", b"2.5"))
    server.asked.clear()
    fetch("small", to=tmp_path, base_url=server.url)
    assert server.asked == [("/small/algorithm_runs.arff", 200)]
    assert path.read_bytes() == server.files["/small/algorithm_runs.arff"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"source": "elsewhere"}', b"\xff"])
def test_a_damaged_or_foreign_manifest_means_fetching_again(
    server: Server, content: bytes, small: Scenario, tmp_path: Path
) -> None:
    folder = fetch("small", to=tmp_path, base_url=server.url)
    (folder / MANIFEST).write_bytes(content)
    server.asked.clear()
    fetch("small", to=tmp_path, base_url=server.url)
    assert len(server.asked) == 9
    assert Scenario.read(folder) == small


def test_what_breaks_off_is_fetched_again(server: Server, small: Scenario, tmp_path: Path) -> None:
    server.breaks_left = 2
    folder = fetch("small", to=tmp_path, base_url=server.url)
    assert server.asked[:3] == [("/small/description.txt", 200)] * 3
    assert Scenario.read(folder) == small


def test_what_breaks_off_too_often_is_left_to_the_next_run(
    server: Server, small: Scenario, tmp_path: Path
) -> None:
    server.break_on, server.breaks_left = "/small/feature_values.arff", 3
    with pytest.raises(DownloadError, match=r"feature_values\.arff: broke off .*; run again to go on"):
        fetch("small", to=tmp_path, base_url=server.url)
    assert not (tmp_path / "small" / "feature_values.arff").exists()
    server.asked.clear()
    folder = fetch("small", to=tmp_path, base_url=server.url)
    assert server.asked[0] == ("/small/feature_values.arff", 200)
    assert Scenario.read(folder) == small


def test_a_body_without_a_length_is_taken_as_it_comes(
    server: Server, small: Scenario, tmp_path: Path
) -> None:
    server.mode = "no length"
    assert Scenario.read(fetch("small", to=tmp_path, base_url=server.url)) == small


def test_an_unknown_scenario_is_told_and_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"nobody/description\.txt: not found; is the scenario's name"):
        fetch("nobody", to=tmp_path, base_url=server.url)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_server_is_told(server: Server, tmp_path: Path) -> None:
    server.mode = "error"
    with pytest.raises(DownloadError, match="the server answered 503 Service Unavailable"):
        fetch("small", to=tmp_path, base_url=server.url)


def test_no_server_is_told(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadError, match=r"cannot be reached: .*refused"):
        fetch("small", to=tmp_path, base_url=f"http://127.0.0.1:{port}")


def test_a_silent_server_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(DownloadError, match=r"cannot be reached: no answer within 0\.2 s"):
            fetch("small", to=tmp_path, base_url=url, timeout=0.2)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "-x", "a b", "a\n", "a%2fb"])
def test_names_that_are_no_scenario_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a scenario's name has letters"):
        fetch(name, to=tmp_path, base_url="http://127.0.0.1:1")


def test_other_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must start with http"):
        fetch("small", to=tmp_path, base_url="file:///etc")
    for url in ("http://[half", "http://a b", "http://127.0.0.1:port"):
        with pytest.raises(DownloadError, match="is not a usable URL"):
            fetch("small", to=tmp_path, base_url=url)


def test_a_place_that_cannot_be_written_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch("small", to=tmp_path / "file", base_url=server.url)


def test_without_a_place_the_users_cache_is_taken(server: Server, own_cache: Path) -> None:
    assert fetch("small", base_url=server.url) == own_cache / "scenarios" / "small"


@pytest.mark.parametrize("mode", ["slow headers", "slow body"])
def test_a_server_that_never_comes_to_an_end_is_left(
    server: Server, small_files: dict[str, bytes], tmp_path: Path, mode: str
) -> None:
    server.mode = mode
    begun = time.monotonic()
    with pytest.raises(DownloadError, match="not fetched within"):
        fetch("small", to=tmp_path, base_url=server.url, max_seconds=0.5)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("mode", ["well", "no length"])
def test_a_file_that_is_too_large_is_not_kept(
    server: Server, small_files: dict[str, bytes], tmp_path: Path, mode: str
) -> None:
    server.mode = mode
    with pytest.raises(DownloadError, match="larger than the limit"):
        fetch("small", to=tmp_path, base_url=server.url, max_bytes=10)
    assert list(tmp_path.rglob("*.*")) == []
    size = sum(map(len, small_files.values()))
    with pytest.raises(DownloadError, match="larger than the limit"):
        fetch("small", to=tmp_path, base_url=server.url, max_bytes=size - 1)
    fetch("small", to=tmp_path, base_url=server.url, max_bytes=size)
