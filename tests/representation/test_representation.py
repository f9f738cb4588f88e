"""Every vector that comes out is finite, whatever goes in; and means what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailcut.errors import InputError
from tailcut.representation import (
    INTERCEPT,
    LARGEST,
    PIPELINES,
    FeatureReader,
    ImputeMean,
    MarkMissing,
    SignedLog,
    Standardise,
    Twofold,
    UnitNorm,
    ordinary,
    pipeline,
)
from tailcut.state import pack, unpack
from tailcut.types import Array

features = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.just(4)),
    elements=st.floats(allow_nan=True, allow_infinity=False)
    | st.sampled_from([0.0, 1.0, 1e300, -1e300, 1.7e308, 5e-324, np.nan]),
)


@pytest.mark.parametrize("name", PIPELINES)
@given(stream=features)
@settings(max_examples=150, deadline=None)
def test_every_pipeline_gives_finite_vectors_and_leaves_its_input_alone(name: str, stream: Array) -> None:
    represent = pipeline(name, n_features=4)
    for x in stream:
        before = x.copy()
        out = represent(x)
        assert out.shape == (represent.width,)
        assert np.isfinite(out).all()
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", PIPELINES)
@given(stream=features)
@settings(max_examples=50, deadline=None)
def test_every_pipeline_continues_from_its_state(name: str, stream: Array) -> None:
    first, second = pipeline(name, n_features=4), pipeline(name, n_features=4)
    for x in stream:
        first(x)
    second.restore(unpack(pack(first.state())))
    np.testing.assert_array_equal(first(stream[0]), second(stream[0]))


@given(x=arrays(np.float64, 3, elements=st.floats(allow_nan=False, allow_infinity=False)))
@settings(max_examples=200, deadline=None)
def test_unit_norm_has_length_one_or_zero(x: Array) -> None:
    length = np.linalg.norm(UnitNorm()(x))
    assert length == pytest.approx(1.0) if x.any() else length == 0.0


def test_imputation_is_the_mean_of_the_values_seen() -> None:
    rng = np.random.default_rng(0)
    stream = rng.standard_normal((50, 3)) * [1.0, 1e3, 1e-3]
    stream[rng.random((50, 3)) < 0.3] = np.nan
    impute = ImputeMean()
    impute.start(3)
    for step, x in enumerate(stream):
        filled = impute(x)
        seen = stream[: step + 1]
        for j in range(3):
            column = seen[:, j][~np.isnan(seen[:, j])]
            expected = x[j] if not np.isnan(x[j]) else (column.mean() if len(column) else 0.0)
            assert filled[j] == pytest.approx(expected)


def test_standardisation_equals_the_batch_formula() -> None:
    rng = np.random.default_rng(1)
    stream = rng.standard_normal((80, 3)) * [1.0, 50.0, 1e-4] + [0.0, 1e3, 5.0]
    stream[rng.random((80, 3)) < 0.2] = np.nan
    part = Standardise(clip=2.0, norm=3.0)
    part.start(3)
    for step, x in enumerate(stream):
        out = part(x)
        seen = stream[: step + 1]
        for j in range(3):
            column = seen[:, j][~np.isnan(seen[:, j])]
            deviation = column.std() if len(column) else 0.0
            z = 0.0 if np.isnan(x[j]) or deviation == 0.0 else (x[j] - column.mean()) / deviation
            assert out[j] == pytest.approx(np.clip(z, -2.0, 2.0) * 3.0 / np.sqrt(3), abs=1e-9)


def test_a_constant_feature_stays_at_zero() -> None:
    part = Standardise()
    part.start(1)
    assert [part(np.array([0.1 + 0.2]))[0] for _ in range(1000)] == [0.0] * 1000


def test_signed_log_is_odd_and_monotone() -> None:
    x = np.array([-1e300, -2.0, 0.0, 2.0, 1e300])
    out = SignedLog()(x)
    np.testing.assert_allclose(out, -out[::-1])
    assert (np.diff(out) > 0).all()


@pytest.mark.parametrize("name", PIPELINES)
@given(stream=features)
@settings(max_examples=100, deadline=None)
def test_applying_gives_what_learning_gave_and_learns_nothing(name: str, stream: Array) -> None:
    represent = pipeline(name, n_features=4)
    for x in stream:
        learned = represent(x)
        before = pack(represent.state())
        np.testing.assert_allclose(represent.transform(x), learned, rtol=1e-12, atol=1e-300)
        assert pack(represent.state()) == before


@pytest.mark.parametrize("name", PIPELINES)
def test_many_at_once_stand_on_one_scale(name: str) -> None:
    stream = np.random.default_rng(0).standard_normal((30, 4)) * 5.0 + 2.0
    represent, one_by_one = pipeline(name, n_features=4), pipeline(name, n_features=4)
    together = represent.fit_transform(stream)
    for x in stream:
        one_by_one(x)
    assert pack(represent.state()) == pack(one_by_one.state())
    np.testing.assert_array_equal(together, [one_by_one.transform(x) for x in stream])
    assert represent.fit_transform(stream[:0]).shape == (0, represent.width)


def test_trees_see_the_values_behind_those_of_twofold() -> None:
    twofold, trees = pipeline("twofold", 3), pipeline("trees", 3)
    for x in np.random.default_rng(0).normal(size=(5, 3)):
        x[1] = np.nan
        np.testing.assert_array_equal(trees(x), twofold(x)[4:])
        np.testing.assert_array_equal(trees.transform(x), trees(x))
    assert trees.width == 3


@given(stream=features)
@settings(max_examples=100, deadline=None)
def test_compiled_imputation_is_that_of_numpy(stream: Array) -> None:
    part = ImputeMean()
    part.start(4)
    seen, total = np.zeros(4), np.zeros(4)
    for x in stream:
        clipped = x if ordinary(x) else np.clip(x, -LARGEST, LARGEST)
        missing = np.isnan(clipped)
        seen += ~missing
        total += np.where(missing, 0.0, clipped)
        expected = np.where(missing, total / np.maximum(seen, 1.0), clipped)
        assert part(x).tobytes() == expected.tobytes() == part.transform(x).tobytes()


@given(stream=features)
@settings(max_examples=100, deadline=None)
def test_twofold_is_what_its_two_sides_are_alone(stream: Array) -> None:
    both, standardise, mark_missing = Twofold(), Standardise(), MarkMissing()
    both.start(4)
    standardise.start(4)
    for x in np.sign(stream) * np.log1p(np.abs(stream)):
        expected = np.concatenate([standardise(x), [INTERCEPT], mark_missing(x)])
        assert both(x).tobytes() == expected.tobytes()
        assert both.transform(x)[:4].tobytes() == standardise.transform(x).tobytes()


def test_names_that_were_set_later_are_known() -> None:
    reader = FeatureReader()
    reader.names, reader.width = ("a", "b"), 2
    assert reader.read({"b": 2.0, "a": 1.0}).tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="unknown features: c"):
        reader.read({"c": 3.0})
