"""Features are matched by name wherever the input has names, and what is no number is named."""

from __future__ import annotations

import datetime
import math
from collections import namedtuple
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tailcut import Request, Selector
from tailcut.errors import InputError
from tailcut.journal import Journal, Project
from tailcut.types import Array

VALUES = {"v": 2.0, "u": 1.0}
Row = namedtuple("Row", ["v", "u"])
NAMED = {
    "mapping": VALUES,
    "pandas Series": pd.Series(VALUES),
    "pandas DataFrame": pd.DataFrame([VALUES]),
    "pandas row": pd.DataFrame([{"v": 9.0, "u": 9.0}, VALUES]).iloc[1],
    "pandas tuple": next(pd.DataFrame([VALUES]).itertuples(index=False)),
    "polars DataFrame": pl.DataFrame([VALUES]),
    "polars row": pl.DataFrame([VALUES]).row(0, named=True),
    "namedtuple": Row(2.0, 1.0),
}


def made(**options: Any) -> Selector:
    return Selector("thompson", ["a", "b"], 10.0, feature_names=["u", "v"], **options)


def seen(selector: Selector, features: Any) -> list[float]:
    origin = selector.select(features).origin
    assert origin is not None
    assert origin.features is not None
    return [float(value) for value in origin.features]


@pytest.mark.parametrize("kind", NAMED)
def test_names_decide_and_not_the_order(kind: str, tmp_path: Path) -> None:
    assert seen(made(), NAMED[kind]) == [1.0, 2.0]
    assert seen(made(), Request(NAMED[kind]).to_dict()["features"]) == [1.0, 2.0]
    assert made().race(NAMED[kind], k=2)[0].origin is not None
    description = {
        "selector": "thompson",
        "algorithms": ["a", "b"],
        "cutoff": 9.0,
        "feature_names": ["u", "v"],
    }
    with Journal(tmp_path / "state.db") as journal:
        project = Project.create(journal, "p", description)
        project.select(NAMED[kind])
        project.select(pd.Series({"v": 2.0, "u": None}, dtype="Float64"))
        project.consider(NAMED[kind])
        assert project.verify() == 2


@pytest.mark.parametrize(
    "vector", [pl.Series([1.0, 2.0]), pd.Series([1.0, 2.0]), (1.0, 2.0), np.array([1, 2])]
)
def test_without_names_the_order_decides(vector: Any) -> None:
    assert seen(made(), vector) == [1.0, 2.0]
    assert Request(vector).to_dict()["features"] == [1.0, 2.0]


def test_the_first_named_row_settles_the_names() -> None:
    selector = Selector("thompson", ["a", "b"], 10.0)
    selector.select(pd.Series(VALUES))
    assert selector.feature_names == ("v", "u")
    assert seen(selector, {"u": 1.0}) == pytest.approx([math.nan, 1.0], nan_ok=True)


def test_what_is_masked_is_missing() -> None:
    masked = np.ma.masked_array([7.0, 2.0], mask=[True, False])
    assert seen(made(), masked) == pytest.approx([math.nan, 2.0], nan_ok=True)
    assert Request(masked).to_dict()["features"] == [None, 2.0]
    whole = np.ma.masked_array([7, 2], mask=[True, False])
    assert seen(made(), whole) == pytest.approx([math.nan, 2.0], nan_ok=True)
    assert seen(made(), pd.Series({"v": 2.0, "u": None}, dtype="Float64"))[1] == 2.0
    assert seen(made(), pl.DataFrame({"v": [2.0], "u": [None]}))[1] == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        [10**400, 1.0],
        ["2", 1.0],
        ["2", "1"],
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        [np.datetime64("2020-01-01"), 1.0],
        [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), 1.0],
        pd.Series({"u": pd.Timestamp("2020-01-01"), "v": pd.Timestamp("2020-01-02")}),
        np.array([1j, 2.0]),
        {"u": "2", "v": 1.0},
        {"u": 10**400, "v": 1.0},
        pd.DataFrame([VALUES, VALUES]),
        pl.DataFrame([VALUES, VALUES]),
        pd.Series({3: 1.0, 5: 2.0}),
    ],
)
def test_what_is_no_number_is_named_and_changes_nothing(wrong: Any) -> None:
    selector = made()
    selector.select([1.0, 2.0])
    before = selector.to_bytes()
    with pytest.raises(InputError, match="features"):
        selector.select(wrong)
    assert selector.to_bytes() == before


def test_what_is_a_number_is_taken() -> None:
    assert seen(made(), [Decimal("1.5"), True]) == [1.5, 1.0]
    assert seen(made(), [np.float32(1.5), np.int8(3)]) == [1.5, 3.0]


@pytest.mark.parametrize("wrong", ["2", b"2", 10**400, np.datetime64("2020-01-01"), np.timedelta64(3, "s")])
def test_seconds_that_are_no_number_are_named(wrong: Any) -> None:
    selector = made()
    decision = selector.select([1.0, 2.0])
    for name in ("runtime", "censored_at"):
        with pytest.raises(InputError, match=name):
            selector.observe(decision, **{name: wrong})
    with pytest.raises(InputError, match="cutoff"):
        selector.select([1.0, 2.0], cutoff=wrong)
    assert selector.pending == (decision.id,)


def test_numbers_of_decisions_may_be_those_of_numpy() -> None:
    selector = made()
    for number in range(3):
        selector.select([1.0, 2.0])
        assert selector.observe(np.int64(number), runtime=1.0)  # type: ignore[arg-type]
    assert selector.proceed(np.uint8(2)) is None  # type: ignore[arg-type]


def test_recorded_tables_are_matched_by_name_and_keep_their_mask() -> None:
    def recorded(features: Any, runtimes: Any) -> SimpleNamespace:
        solved = np.ones((2, 2), dtype=np.bool_)
        names: dict[str, Any] = {"algorithms": ("a", "b"), "feature_names": ("u", "v")}
        return SimpleNamespace(cutoff=10.0, features=features, runtimes=runtimes, solved=solved, **names)

    plain: Array = np.array([[1.0, 2.0], [3.0, 4.0]])
    times = np.array([[1.0, 9.0], [2.0, 8.0]])
    expected = made()
    expected.fit(recorded(plain, times))
    for frame in (pd.DataFrame, pl.DataFrame):
        selector = made()
        by_name = frame({"v": plain[:, 1], "u": plain[:, 0]})
        selector.fit(recorded(by_name, frame({"b": times[:, 1], "a": times[:, 0]})))
        assert selector.to_bytes() == expected.to_bytes()
    missing, masked = made(), made()
    missing.fit(recorded(np.array([[1.0, np.nan], [3.0, 4.0]]), times))
    masked.fit(recorded(np.ma.masked_array(plain, mask=[[False, True], [False, False]]), times))
    assert masked.to_bytes() == missing.to_bytes()
    with pytest.raises(InputError, match=r"features.*lacks u"):
        made().fit(recorded(pd.DataFrame({"v": [1.0, 2.0]}), times))
