"""The Python client: the verbs of a selector, safe to repeat, errors that say what the server said."""

from __future__ import annotations

import math
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.errors import InputError, ServiceError, UnknownDecisionError
from tailcut.service.client import Client, RemoteProject, _new_key
from tailcut.types import Decision, Outcome
from tests.service.running import Running


@pytest.fixture
def client(running: Running) -> Iterator[Client]:
    with running.client() as client:
        yield client


def project(client: Client, selector: str = "thompson_rev") -> RemoteProject:
    return client.create_project("p", algorithms=["a", "b"], cutoff=60.0, selector=selector)


def test_keys_are_used_once_and_begin_with_the_time() -> None:
    keys = [_new_key() for _ in range(10_000)]
    assert len(set(keys)) == len(keys)
    times = [key[:16] for key in keys]
    assert times == sorted(times)


def test_one_loop_serves_local_and_remote(client: Client) -> None:
    remote = project(client, "round_robin")
    local = Selector("round_robin", ["a", "b"], 60.0)
    for one in (local, remote):
        steps = []
        decision: Decision | None = one.select(instance="i")
        while decision is not None:
            steps.append((decision.stage, decision.algorithm, decision.budget))
            assert one.observe(decision, censored_at=decision.budget)
            decision = one.proceed(decision)
        assert steps == [(0, "a", 30.0), (1, "b", 30.0)]


def test_everything_else_it_can_do(running: Running, client: Client) -> None:
    remote = project(client)
    first = remote.select(np.array([1.0, math.nan]), instance="i", spent=2.0, among=["a"])
    assert (first.algorithm, first.budget, first.instance) == ("a", 58.0, "i")
    assert remote.observe(first, runtime=3.0)
    assert not remote.observe(first.id, Outcome.solved(3.0))
    remote.add_algorithm("c/d")
    assert remote.info()["algorithms"] == ["a", "b", "c/d"]
    remote.remove_algorithm("c/d")
    answers = remote.select_batch([{"features": [1.0, 2.0]}, {"features": [1.0]}])
    assert isinstance(answers[0], Decision)
    assert isinstance(answers[1], ServiceError)
    assert (answers[1].status, answers[1].field) == (422, "features")
    observed = remote.observe_batch([(answers[0], Outcome.failed()), (99, Outcome.censored(60.0))])
    assert observed[0] is True
    assert isinstance(observed[1], ServiceError)
    explanation = remote.explain(answers[0], top=1)
    assert explanation.algorithm == answers[0].algorithm
    assert str(explanation)
    assert remote.statistics()["decisions"] == 2
    assert len(list(remote.history(page=2))) == 6
    assert [one["kind"] for one in remote.history(kind=["observe"], order="oldest")] == ["observe"] * 2
    assert client.healthy()
    assert [one["name"] for one in client.projects()] == ["p"]
    assert running.token not in repr(client)


def test_errors_carry_the_server_s_words(running: Running, client: Client) -> None:
    remote = project(client)
    with pytest.raises(ServiceError, match="unknown selector 'x'") as caught:
        remote.client.create_project("q", algorithms=["a"], cutoff=1.0, selector="x")
    assert (caught.value.status, caught.value.field) == (422, "selector")
    with pytest.raises(ServiceError, match="there is no project 'q'") as caught:
        remote.client.project("q").select([1.0])
    assert caught.value.status == 404
    with (
        Client(running.address, "wrong") as stranger,
        pytest.raises(ServiceError, match="token is wrong") as caught,
    ):
        stranger.projects()
    assert caught.value.status == 401
    with pytest.raises(InputError, match="address must be like"):
        Client("127.0.0.1:8765", "t")


class Lossy:
    """Stands between client and server, and cuts every second answer off after the server gave it."""

    def __init__(self, running: Running) -> None:
        self.target = (running.host, running.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        while True:
            try:
                inside, _ = self.listener.accept()
            except OSError:
                return
            with inside, socket.create_connection(self.target) as outside:
                while self.pass_on(inside, outside):
                    pass

    def pass_on(self, inside: socket.socket, outside: socket.socket) -> bool:
        request = self.message(inside)
        if not request:
            return False
        outside.sendall(request)
        answer = self.message(outside)
        self.requests += 1
        if self.requests % 2:
            return False
        inside.sendall(answer)
        return True

    def message(self, source: socket.socket) -> bytes:
        """Return one whole request or answer, however it was cut on its way; nothing at the end."""
        found = b""
        while not self.whole(found):
            more = source.recv(1 << 20)
            if not more:
                return found
            found += more
        return found

    @staticmethod
    def whole(message: bytes) -> bool:
        head, end, body = message.partition(b"\r\n\r\n")
        if not end:
            return False
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return len(body) >= (int(lengths[0].split(b":")[1]) if lengths else 0)


@pytest.fixture
def lossy(running: Running) -> Iterator[Lossy]:
    between = Lossy(running)
    yield between
    between.listener.close()


def test_what_is_lost_is_sent_again_and_happens_once(running: Running, client: Client, lossy: Lossy) -> None:
    project(client)
    far = Client(f"http://127.0.0.1:{lossy.port}", running.token, timeout=10.0)
    remote = far.project("p")
    decisions = [remote.select([float(number)]) for number in range(5)]
    assert [one.id for one in decisions] == [0, 1, 2, 3, 4]
    learned = [remote.observe(one, runtime=1.0) for one in decisions]
    assert not all(learned)  # the answer that arrived was to the repetition
    batch = remote.select_batch([{"features": [1.0]}, {"features": [2.0]}])
    assert [one.id for one in batch if isinstance(one, Decision)] == [5, 6]
    statistics = running.call("GET", "/v1/projects/p/statistics").json
    assert (statistics["decisions"], statistics["outcomes"]) == (7, 5)
    assert lossy.requests > 12
    far.close()


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", "t", retries=1)
    assert not client.healthy()
    with pytest.raises(ServiceError, match="does not answer") as caught:
        client.projects()
    assert caught.value.status is None


def test_many_threads_share_a_client(client: Client) -> None:
    remote = project(client)
    seen: list[int] = []

    def work() -> None:
        for number in range(15):
            decision = remote.select([float(number), 1.0])
            seen.append(decision.id)
            remote.observe(decision, runtime=1.0 + number)

    threads: list[Any] = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(90))
    assert remote.statistics()["outcomes"] == 90


def test_over_http_a_client_sends_no_number_of_another_project(shared: Running) -> None:
    shared.create("mine", "tailcut")
    shared.create("yours", "tailcut")
    with shared.client() as client:
        mine, yours = client.project("mine"), client.project("yours")
        decision, own = mine.select([1.0]), yours.select([1.0])
        uses: list[Callable[[], object]] = [
            lambda: yours.observe(decision, runtime=1.0),
            lambda: yours.observe(Selector("tailcut", ["a", "b"], 60.0).select([1.0]), runtime=1.0),
            lambda: yours.proceed(decision),
            lambda: yours.explain(decision),
        ]
        for use in uses:
            with pytest.raises(UnknownDecisionError, match="not made by the project 'yours'"):
                use()
        assert decision.explain().algorithm == decision.algorithm
        assert yours.observe(pickle.loads(pickle.dumps(own)), runtime=1.0)
        assert mine.observe(decision.id, runtime=1.0)
