"""Tags of instances: features that may come at any time, from a list or from Python."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tailcut import Selector
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.live import run
from tailcut.live.instance_record import PROJECT, InstanceRecord, instance_records
from tailcut.live.instances import TAG_FEATURES, Instance, read_line, tag_features
from tests.live import toy
from tests.live.commands import tailcut

EASY = "a 0.02 yes\nb 0.02 yes"


def records(folder: Path) -> dict[str, InstanceRecord]:
    with Journal(folder / "s.db") as journal:
        return {Path(name).stem: one for name, one in instance_records(Project(journal, PROJECT)).items()}


def tags_of(record: InstanceRecord) -> dict[str, float]:
    assert record.features is not None
    return {name: value for name, value in record.features.items() if name in TAG_FEATURES}


def test_a_list_gives_tags_and_new_ones_come_late(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 5")
    toy.write_instances(tmp_path, dict.fromkeys(("one", "two", "three"), EASY))
    tags = {"one": {"family": "bmc"}, "two": {"family": "bmc", "new": 3}, "three": {}}
    lines = [json.dumps({"instance": f"instances/{name}.toy", "tags": own}) for name, own in tags.items()]
    (tmp_path / "list").write_text("\n".join(lines))
    listed = 'import sys; sys.stdin = open("list")'
    ended = tailcut(tmp_path, "run", "portfolio.toml", "-", "--state", "s.db", before=listed)
    assert "3 solved" in ended.stdout
    found = records(tmp_path)
    assert tags_of(found["one"]) == tag_features({"family": "bmc"})
    assert tags_of(found["two"]) == tag_features({"family": "bmc", "new": "3"}) != tags_of(found["one"])
    assert tags_of(found["three"]) == dict.fromkeys(TAG_FEATURES, 0.0)
    assert all(one.features is not None and one.features["size"] == 2.0 for one in found.values())


@pytest.mark.parametrize("reserved", [False, True])
def test_tags_that_come_after_the_first_instance(tmp_path: Path, reserved: bool) -> None:
    top = "cutoff = 5" + ("\ntags = true" if reserved else "")
    toy.write_portfolio(tmp_path, ("a", "b"), top=top)
    folder = toy.write_instances(tmp_path, dict.fromkeys(("one", "two"), EASY))
    two = Instance("two", folder / "two.toy", tags={"family": "bmc"})
    given: list[str | Path | Instance] = [folder / "one.toy", two]
    assert run(tmp_path / "portfolio.toml", given, state=tmp_path / "s.db").solved == 2
    assert tags_of(records(tmp_path)["two"]) == (tag_features({"family": "bmc"}) if reserved else {})


def test_tags_are_all_that_is_known_where_there_are_no_features(tmp_path: Path) -> None:
    toy.write_portfolio(tmp_path, ("a", "b"), top="cutoff = 5", features=False)
    folder = toy.write_instances(tmp_path, {"one": EASY})
    given = [Instance("one", folder / "one.toy", tags={"family": "bmc"})]
    run(tmp_path / "portfolio.toml", given, state=tmp_path / "s.db")
    assert records(tmp_path)["one"].features == tag_features({"family": "bmc"})


def test_a_selector_learns_from_tags_which_solver_suits_a_family() -> None:
    selector = Selector("tailcut", ["a", "b"], 60.0, seed=0)
    suits = {"bmc": "a", "crypto": "b"}
    right = 0
    for number in range(80):
        family = ("bmc", "crypto")[number % 2]
        decision = selector.select({"size": 1.0, **tag_features({"family": family})})
        best = decision.algorithm == suits[family]
        selector.observe(decision, runtime=1.0 if best else 40.0)
        right += best and number >= 40
    assert right >= 36


def test_hashed_tags_are_numbers_in_few_places() -> None:
    many = tag_features({f"name{number}": "x" for number in range(100)})
    assert len(many) == len(TAG_FEATURES)
    assert all(math.isfinite(value) for value in many.values())
    assert sum(value != 0.0 for value in many.values()) > 8


@pytest.mark.parametrize(
    ("tags", "words"), [("[]", "tags must be an object"), ('{"a": null}', "tags.a must be a text")]
)
def test_wrong_tags_are_named(tmp_path: Path, tags: str, words: str) -> None:
    file = tmp_path / "x"
    file.write_text("")
    with pytest.raises(InputError, match=words):
        read_line(f'{{"instance": "{file}", "tags": {tags}}}', 3)
