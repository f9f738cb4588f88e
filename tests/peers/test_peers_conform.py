"""Other people's selectors keep the promises of any other row, where their libraries are installed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailcut.catalogue import OFFLINE_PEERS, recipe
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.testing import CHECKS, Factory, factory
from tests.distinct_parts import distinct_rows
from tests.peers.names import LEARNING_ONLINE, SCHEDULES, needs


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", distinct_rows([*LEARNING_ONLINE, *SCHEDULES, *OFFLINE_PEERS]))
def test_peer_conforms(name: str, check: Callable[[Factory], None]) -> None:
    needs(name)
    check(factory(name, **({"trees": 3} if "trees" in recipe(name).hyperparameters else {})))


@pytest.mark.parametrize("name", LEARNING_ONLINE)
def test_one_that_cannot_be_saved_is_no_project(name: str, tmp_path: object) -> None:
    needs(name)
    described = {"selector": name, "algorithms": ["a", "b"], "cutoff": 60.0}
    with Journal(f"{tmp_path}/journal.db") as journal:
        if recipe(name).can_be_saved:
            assert Project.create(journal, "p", described).selector.name == name
        else:
            with pytest.raises(InputError, match=f"{name} cannot be saved, so it cannot be a project"):
                Project.create(journal, "p", described)
            assert journal.projects() == {}
