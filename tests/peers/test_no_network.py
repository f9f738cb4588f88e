"""No adapter touches the network: with sockets taken away, every row selects, learns and fits."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from tailcut import Selector
from tailcut.catalogue import OFFLINE_PEERS, recipe
from tailcut.scenarios.synthetic import generate
from tests.peers.names import LEARNING_ONLINE, SCHEDULES, needs


@pytest.mark.parametrize("name", [*LEARNING_ONLINE, *SCHEDULES, *OFFLINE_PEERS])
def test_a_row_works_without_sockets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(name)

    def refuse(*_given: Any, **_named: Any) -> None:
        raise AssertionError("a socket was asked for")

    for method in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, method, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    scenario = generate(n_instances=12, n_algorithms=3, n_features=2, seed=1)
    few: dict[str, Any] = {"trees": 2} if "trees" in recipe(name).hyperparameters else {}
    selector = Selector(name, scenario.algorithms, scenario.cutoff, **few)
    known = np.zeros((12, 3), dtype=np.bool_)
    known[:8] = True
    selector.fit(scenario, known=known)
    for features in scenario.features[8:]:
        selector.observe(selector.select(features), runtime=0.5 * scenario.cutoff)
