"""A client for the service: the methods of a selector, over HTTP.

Lost requests are sent again, which is safe: every select and fit has its own key, for which the service acts
only once, and everything else changes nothing the second time. A client may be used from several threads;
connections stay open for the next request.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import secrets
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack
from urllib.parse import quote, urlencode, urlsplit
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tailcut import types
from tailcut.errors import InputError, ServiceError, UnknownDecisionError
from tailcut.explain import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.policies.pending import known_as, number_of
from tailcut.policies.recorded_runs import Recorded, RecordedRuns
from tailcut.types import NO_FEATURES, Decision, Features, Origin, Outcome, Request, Status

_AGAIN = frozenset({502, 503, 504})
"""Statuses after which the same request may succeed."""
_LOST = (OSError, http.client.HTTPException, UnicodeError)
"""No connection, no TLS, not the whole response; or a name that cannot be one."""
_FOR_GOOD = (ssl.SSLCertVerificationError, UnicodeError)
"""Those of them that stay."""
FIT_BYTES = 4_000_000
"""Approximate size of a body above which recorded runs are sent in several requests."""
FIT_INSTANCES = 2_000
"""Maximum number of instances in one of them: the service does nothing else while it learns."""


class Client:
    """A connection to a service, by its address and a token."""

    def __init__(self, address: str, token: str, *, timeout: float = 60.0, retries: int = 6) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"address must be like http://127.0.0.1:8765, got {address!r}", field="address")
        try:
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise InputError(f"address {address!r}: {error}", field="address") from None
        if not token.isascii() or not token.isprintable() or " " in token:
            # Without the token: http.client would show it in full.
            words = "token must be letters, digits and signs, without blanks or line ends"
            raise InputError(words, field="token")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connect: Callable[[], http.client.HTTPConnection] = lambda: kind(host, port, timeout=timeout)
        self._address = f"{parts.scheme}://{host}:{port or kind.default_port}"  # no user, no password
        self._prefix = parts.path.rstrip("/") + "/v1"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._retries = retries
        self._idle: deque[http.client.HTTPConnection] = deque()
        """Idle connections; the latest is used first."""

    def __repr__(self) -> str:
        return f"Client({self._prefix!r})"  # never the token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again if it was lost, and return the JSON of the response."""
        content = None if body is None else _json(body)
        for attempt in range(self._retries + 1):
            try:
                return _content(*self._send(method, self._prefix + path, content))
            except ServiceError as error:
                failure, again = error, error.status in _AGAIN
            except _LOST as error:
                reason = str(error) or type(error).__name__
                failure = ServiceError(f"the service at {self._address} does not answer: {reason}")
                failure.__cause__, again = error, not isinstance(error, _FOR_GOOD)
            if not again or attempt == self._retries:
                raise failure
            # Longer every time, and at random, so that clients do not retry at once.
            time.sleep(min(0.05 * 2**attempt, 2.0) * random.uniform(0.5, 1.0))
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            connection.request(method, path, content, self._headers)
            response = connection.getresponse()
            received = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return received

    def close(self) -> None:
        """Close the connections; the next request opens another."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def healthy(self) -> bool:
        """Return whether the service works."""
        try:
            return bool(self.call("GET", "/health")["status"] == "ok")
        except ServiceError:
            return False

    def create_project(
        self, name: str, *, algorithms: Iterable[str], cutoff: float, selector: str = "tailcut", **more: Any
    ) -> RemoteProject:
        """Create a project; an identical one that exists is returned.

        `more`: seed, feature_names, max_pending, hyperparameters (a mapping).
        """
        body = {"name": name, "algorithms": list(algorithms), "cutoff": cutoff, "selector": selector, **more}
        self.call("POST", "/projects", body)
        return self.project(name)

    def remove_project(self, name: str) -> bool:
        """Remove a project with all its history; return whether there was one."""
        return bool(self.call("DELETE", f"/projects/{quote(name, safe='')}")["removed"])

    def project(self, name: str) -> RemoteProject:
        """Return a project that exists."""
        return RemoteProject(self, name)

    def projects(self) -> list[dict[str, Any]]:
        """Return the descriptions of all projects."""
        return list(self.call("GET", "/projects")["projects"])


class RemoteProject:
    """A selector in the service, with the methods of `tailcut.Selector`."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self._path = f"/projects/{quote(name, safe='')}"
        self._identity = known_as(name)

    def __repr__(self) -> str:
        return f"RemoteProject({self.name!r})"

    def select(
        self, features: Features = None, *, key: str | None = None, **options: Unpack[types.RequestOptions]
    ) -> Decision:
        """Decide as `Selector.select`; a `key` is generated unless you pass one."""
        return self._decision(self._post("/select", _with_key(key, features, **options)))

    def race(
        self,
        features: Features = None,
        *,
        k: int,
        running: Mapping[str, float] | None = None,
        failed: Mapping[str, float] | None = None,
        key: str | None = None,
        **options: Unpack[types.RequestOptions],
    ) -> list[Decision]:
        """Decide as `Selector.race`; a `key` is generated unless you pass one."""
        body = _with_key(key, features, **options)
        body |= {"k": k, "running": dict(running or {}), "failed": dict(failed or {})}
        return [self._decision(decision) for decision in self._post("/race", body)["decisions"]]

    def select_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision | ServiceError]:
        """Decide for several instances: each request holds keywords of `select`.

        The error of a request is returned in its place.
        """
        bodies = [_with_key(**{"key": None, **request}) for request in requests]
        answers = self._post("/select/batch", {"requests": bodies})["answers"]
        return [_item_error(answer) or self._decision(answer["decision"]) for answer in answers]

    def observe(
        self, decision: Decision | int, outcome: Outcome | None = None, **form: Unpack[types.OutcomeOptions]
    ) -> bool:
        """Report the outcome of a decision, as `Selector.observe`; return False if it was already known."""
        body = _observation(self._number(decision), Outcome.one_of(outcome, **form))
        return bool(self._post("/observe", body)["learned"])

    def observe_batch(self, outcomes: Iterable[tuple[Decision | int, Outcome]]) -> list[bool | ServiceError]:
        """Report the outcomes of several decisions; the error of one is returned in its place."""
        body = {"outcomes": [_observation(self._number(decision), outcome) for decision, outcome in outcomes]}
        answers = self._post("/observe/batch", body)["answers"]
        return [_item_error(answer) or answer["learned"] for answer in answers]

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Return the next run on the same instance, or None, as `Selector.proceed`."""
        following = self._post("/proceed", {"decision": self._number(decision), "spent": spent})["decision"]
        return None if following is None else self._decision(following)

    def fit(
        self, scenario: Recorded, *, known: NDArray[np.bool_] | None = None, key: str | None = None
    ) -> int:
        """Learn from recorded runs as `Selector.fit`; return how many there were.

        A large number is sent in several requests, which are learned one after another; this is not quite the
        same as learning all runs at once. A `key` is generated unless you pass one.
        """
        runs, begin = RecordedRuns.of(scenario, known), key or _new_key()
        pieces = runs.bounded_pieces(FIT_BYTES, FIT_INSTANCES)
        return sum(
            self._post("/fit", {**piece.to_dict(), "key": f"{begin}-{number}"})["runs"]
            for number, piece in enumerate(pieces)
        )

    def feature_budget(self, *, cutoff: float | None = None) -> float:
        """Return how long computing the next instance's features may take, as `Selector.feature_budget`."""
        query = {} if cutoff is None else {"cutoff": cutoff}
        return float(self._get("/feature_budget", **query)["seconds"])

    def consider(
        self, features: Features = None, *, top: int = 5, **options: Unpack[types.ConsiderOptions]
    ) -> Explanation:
        """Return what would be chosen for an instance, and why, as `Selector.consider`."""
        request = Request(features, **options).to_dict()
        body = {name: request[name] for name in ("features", "cutoff", "among")}
        return _explanation(self._post("/consider", {**body, "top": top}))

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision was made, according to the selector's current belief."""
        return _explanation(self._get(f"/decisions/{self._number(decision)}/explanation", top=top))

    def add_algorithm(self, name: str) -> None:
        """Add an algorithm."""
        self._post("/algorithms", {"name": name})

    def remove_algorithm(self, name: str) -> None:
        """Remove an algorithm and forget what was learned about it."""
        self.client.call("DELETE", f"{self._path}/algorithms/{quote(name, safe='')}")

    def info(self) -> dict[str, Any]:
        """Return the project's description."""
        return dict(self._get(""))

    def statistics(self) -> dict[str, Any]:
        """Return the project's statistics."""
        return dict(self._get("/statistics"))

    def history(self, *, order: str = "newest", page: int = 500, **more: Any) -> Iterator[dict[str, Any]]:
        """Yield all events, page by page; `more`: kind (a list), decision, features."""
        cursor: dict[str, int] = {}
        while True:
            events = self._get("/history", order=order, limit=page, **more, **cursor)
            yield from events["events"]
            if events["next"] is None:
                return
            cursor = {"cursor": events["next"]}

    def _decision(self, values: Mapping[str, Any]) -> Decision:
        """Return a decision that knows its project; what explains it is in the service."""
        origin = Origin(ref(self), None, NO_FEATURES, 0, None, self._identity)
        return replace(Decision.from_dict(values), origin=origin)

    def _number(self, decision: Decision | int) -> int:
        """Return the number of a decision; raise if it is that of another project or selector."""
        origin = decision.origin if isinstance(decision, Decision) else None
        if origin is not None and origin.maker not in (0, self._identity):
            words = f"decision {number_of(decision)} was not made by the project {self.name!r}"
            raise UnknownDecisionError(words)
        return number_of(decision)

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.client.call("POST", self._path + path, body)

    def _get(self, path: str, **query: Any) -> Any:
        return self.client.call("GET", f"{self._path}{path}?{urlencode(query, doseq=True)}")


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError as error:
        raise InputError(f"a request holds finite numbers only, and nan for missing ones: {error}") from None


def _with_key(key: str | None, *request: Any, **more: Any) -> dict[str, Any]:
    return {**Request(*request, **more).to_dict(), "key": key or _new_key()}


def _new_key() -> str:
    """Return a new key. It begins with the time, so that new keys share a page of the journal's index."""
    return f"{time.time_ns():016x}{secrets.token_hex(8)}"


def _observation(number: int, outcome: Outcome) -> dict[str, Any]:
    if outcome.status is Status.FAILED:
        return {"decision": number, "failed": True}
    if outcome.loss is not None:
        return {"decision": number, "loss": outcome.loss}
    return {"decision": number, "runtime" if outcome.status is Status.SOLVED else "censored_at": outcome.time}


def _explanation(response: dict[str, Any]) -> Explanation:
    del response["text"]
    beliefs = tuple(_belief(**algorithm) for algorithm in response["algorithms"])
    effects = tuple(FeatureEffect(**feature) for feature in response["features"])
    return Explanation(**{**response, "algorithms": beliefs, "features": effects})


def _belief(**values: Any) -> AlgorithmBelief:
    """Return a belief; JSON has no infinity, so a missing time in a forecast is infinite."""
    if values["timeout_probability"] is not None:
        for name in ("predicted_runtime", "low", "high", "expected_par"):
            values[name] = math.inf if values[name] is None else values[name]
    return AlgorithmBelief(**values)


def _item_error(response: Mapping[str, Any]) -> ServiceError | None:
    error = response["error"]
    return error and ServiceError(error["message"], status=error["status"], field=error["field"])


def _content(status: int, data: bytes) -> Any:
    """Return the JSON of a response; raise if it is an error."""
    if 300 <= status < 400:
        words = f"the service answered {status}, a redirection, which is not followed: "
        words += "the token would go elsewhere; give the address it leads to"
        raise ServiceError(words, status=status)
    try:
        content = json.loads(data)
        if status < 300:
            return content
        message, errors, number = content["message"], content["errors"], content["id"]
    except (ValueError, KeyError, TypeError):  # not from our service, perhaps from a proxy
        if status < 300:  # whose server is down: a retry is safe
            text, status = "the service did not answer in JSON; is it one of Tailcut?", 502
        else:
            text = f"the service answered {status}"
        raise ServiceError(text, status=status) from None
    field = errors[0]["field"] if errors else None
    raise ServiceError(f"{message} ({number})" if number else message, status=status, field=field)
