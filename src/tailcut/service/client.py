"""A client for the service: the verbs of a selector, over HTTP.

Requests that got lost are sent again, which is safe: every select carries a key of its own, to which the
service gives one answer only, and everything else changes nothing the second time. A client may be used from
several threads; connections stay open for the next request.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tailcut.errors import InputError, ServiceError
from tailcut.explain.explanation import AlgorithmBelief, Explanation, FeatureEffect
from tailcut.types import Decision, Features, Outcome, Status

_AGAIN = frozenset({502, 503, 504})
"""Answers after which the same request may succeed."""
_DECISION = ("id", "instance", "algorithm", "budget", "cutoff", "reason", "stage", "spent")
_LOST = (ConnectionError, TimeoutError, http.client.HTTPException)


class Client:
    """The way to a service at an address, with a token."""

    def __init__(self, address: str, token: str, *, timeout: float = 60.0, retries: int = 6) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"address must be like http://127.0.0.1:8765, got {address!r}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        host, port = parts.hostname, parts.port
        self._connect: Callable[[], http.client.HTTPConnection] = lambda: kind(host, port, timeout=timeout)
        self._prefix = parts.path.rstrip("/") + "/v1"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._retries = retries
        self._idle: deque[http.client.HTTPConnection] = deque()
        """Connections that nobody uses at the moment; the latest is taken first."""

    def __repr__(self) -> str:
        return f"Client({self._prefix!r})"  # never the token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again if it got lost, and return the JSON of the answer."""
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                status, data = self._send(method, self._prefix + path, content)
            except _LOST as error:
                if last:
                    what = str(error) or type(error).__name__
                    raise ServiceError(f"the service does not answer: {what}") from error
            else:
                if status < 400:
                    return json.loads(data)
                if last or status not in _AGAIN:
                    raise _refused(status, data)
            # Longer every time, and never all clients at once.
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
            answer = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close the connections; the next request opens another."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def healthy(self) -> bool:
        """Tell whether the service works."""
        try:
            return bool(self.call("GET", "/health")["status"] == "ok")
        except ServiceError:
            return False

    def create_project(
        self, name: str, *, algorithms: Iterable[str], cutoff: float, selector: str = "tailcut", **more: Any
    ) -> RemoteProject:
        """Begin a project, or find it there just like this.

        `more`: seed, feature_names, max_pending, hyperparameters (a mapping).
        """
        body = {"name": name, "algorithms": list(algorithms), "cutoff": cutoff, "selector": selector, **more}
        self.call("POST", "/projects", body)
        return self.project(name)

    def project(self, name: str) -> RemoteProject:
        """Return a project that exists."""
        return RemoteProject(self, name)

    def projects(self) -> list[dict[str, Any]]:
        """Return what is told of all projects."""
        found: list[dict[str, Any]] = self.call("GET", "/projects")["projects"]
        return found


class RemoteProject:
    """A selector that lives in the service; its verbs are those of `tailcut.Selector`."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self._path = f"/projects/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"RemoteProject({self.name!r})"

    def select(
        self,
        features: Features = None,
        *,
        instance: str | None = None,
        cutoff: float | None = None,
        among: Iterable[str] | None = None,
        spent: float = 0.0,
        feature_cost: float = 0.0,
        key: str | None = None,
    ) -> Decision:
        """Decide as `Selector.select`; `key` is made up unless you have one of your own."""
        body = select_request(
            features,
            instance=instance,
            cutoff=cutoff,
            among=among,
            spent=spent,
            feature_cost=feature_cost,
            key=key,
        )
        return _decision(self._post("/select", body))

    def select_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision | ServiceError]:
        """Decide for several instances: each request holds keywords of `select`.

        What was wrong with a request is returned in its place.
        """
        body = {"requests": [select_request(**request) for request in requests]}
        answers = self._post("/select/batch", body)["answers"]
        return [_item_error(one) or _decision(one["decision"]) for one in answers]

    def observe(
        self,
        decision: Decision | int,
        outcome: Outcome | None = None,
        *,
        runtime: float | None = None,
        censored_at: float | None = None,
        failed: bool = False,
    ) -> bool:
        """Tell how a decision went, as `Selector.observe`; False: that was known already."""
        outcome = Outcome.one_of(outcome, runtime, censored_at, failed)
        return bool(self._post("/observe", _observation(decision, outcome))["learned"])

    def observe_batch(self, outcomes: Iterable[tuple[Decision | int, Outcome]]) -> list[bool | ServiceError]:
        """Tell how several decisions went; what was wrong with one is returned in its place."""
        body = {"outcomes": [_observation(decision, outcome) for decision, outcome in outcomes]}
        return [_item_error(one) or one["learned"] for one in self._post("/observe/batch", body)["answers"]]

    def proceed(self, decision: Decision | int, *, spent: float | None = None) -> Decision | None:
        """Return what to run next on the same instance, as `Selector.proceed`; None: it is over."""
        following = self._post("/proceed", {"decision": _number(decision), "spent": spent})["decision"]
        return None if following is None else _decision(following)

    def add_algorithm(self, name: str) -> None:
        """Offer one more algorithm from now on."""
        self._post("/algorithms", {"name": name})

    def remove_algorithm(self, name: str) -> None:
        """Stop offering an algorithm and forget what was learned of it."""
        self.client.call("DELETE", f"{self._path}/algorithms/{quote(name, safe='')}")

    def explain(self, decision: Decision | int, *, top: int = 5) -> Explanation:
        """Return why a decision fell as it did, by what the selector believes now."""
        found = self._get(f"/decisions/{_number(decision)}/explanation", top=top)
        del found["text"]
        found["algorithms"] = tuple(AlgorithmBelief(**one) for one in found["algorithms"])
        found["features"] = tuple(FeatureEffect(**one) for one in found["features"])
        return Explanation(**found)

    def feature_budget(self) -> float:
        """Return how long computing the next instance's features may take, as `Selector.feature_budget`."""
        return float(self.info()["feature_budget"])

    def info(self) -> dict[str, Any]:
        """Return what the project is made of."""
        return self._get("")

    def statistics(self) -> dict[str, Any]:
        """Return what the project has done so far."""
        return self._get("/statistics")

    def history(self, *, order: str = "newest", page: int = 500, **more: Any) -> Iterator[dict[str, Any]]:
        """Yield all events, page by page; `more`: kind (a list), decision, features."""
        cursor: dict[str, int] = {}
        while True:
            found = self._get("/history", order=order, limit=page, **more, **cursor)
            yield from found["events"]
            if found["next"] is None:
                return
            cursor = {"cursor": found["next"]}

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.client.call("POST", self._path + path, body)

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        asked = "?" + urlencode(query, doseq=True) if query else ""
        found: dict[str, Any] = self.client.call("GET", self._path + path + asked)
        return found


def select_request(
    features: Features = None,
    *,
    instance: str | None = None,
    cutoff: float | None = None,
    among: Iterable[str] | None = None,
    spent: float = 0.0,
    feature_cost: float = 0.0,
    key: str | None = None,
) -> dict[str, Any]:
    """Return the JSON of a request to decide; only what is given is in it.

    >>> select_request([0.5, float("nan")], key="k1")
    {'features': [0.5, None], 'key': 'k1'}
    """
    given = {
        "features": _plain(features),
        "instance": instance,
        "cutoff": cutoff,
        "among": None if among is None else list(among),
        "spent": spent or None,
        "feature_cost": feature_cost or None,
        "key": key or uuid.uuid4().hex,
    }
    return {field: value for field, value in given.items() if value is not None}


def _plain(features: Features) -> Any:
    if features is None:
        return None
    if isinstance(features, Mapping):
        return {name: _value(value) for name, value in features.items()}
    return [_value(value) for value in features]


def _value(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _number(decision: Decision | int) -> int:
    return decision.id if isinstance(decision, Decision) else decision


def _observation(decision: Decision | int, outcome: Outcome) -> dict[str, Any]:
    number = _number(decision)
    if outcome.status is Status.FAILED:
        return {"decision": number, "failed": True}
    return {"decision": number, "runtime" if outcome.status is Status.SOLVED else "censored_at": outcome.time}


def _decision(answer: dict[str, Any]) -> Decision:
    fields = {field: answer[field] for field in _DECISION}  # a newer service may tell more
    scores = {name: math.nan if score is None else score for name, score in answer["scores"].items()}
    return Decision(**fields, scores=scores)


def _item_error(answer: Mapping[str, Any]) -> ServiceError | None:
    error = answer["error"]
    return error and ServiceError(error["message"], status=error["status"], field=error["field"])


def _refused(status: int, data: bytes) -> ServiceError:
    """Return what the service said when it refused."""
    try:
        content = json.loads(data)
        message, errors, number = content["message"], content["errors"], content["id"]
    except (ValueError, KeyError, TypeError):  # not our service, a proxy maybe
        return ServiceError(f"the service answered {status}", status=status)
    field = errors[0]["field"] if errors else None
    return ServiceError(f"{message} ({number})" if number else message, status=status, field=field)
