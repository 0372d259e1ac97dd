"""What every simulator promises, run over the registry."""

from inspect import signature

import numpy as np
import pytest

from support.registered import class_of
from tailguard.checks import InputError
from tailguard.datasets import SIMULATORS, Dataset, simulate

EVERY = pytest.mark.parametrize("name", SIMULATORS)


def draw(name: str, n_rows: int = 400, seed: int = 3) -> Dataset:
    return simulate(name, n_rows=n_rows, seed=seed, **features_of(name, 5))


def features_of(name: str, n_features: int) -> dict[str, int]:
    """How many columns are asked for, where the simulator lets one ask."""
    takes = signature(class_of(SIMULATORS[name])).parameters
    return {"n_features": n_features} if "n_features" in takes else {}


@EVERY
def test_shapes_agree_and_every_value_is_finite(name):
    data = draw(name)
    assert data.features.shape == (400, len(data.feature_names))
    assert data.coefficients.shape == (len(data.feature_names),)
    assert all(column.shape == (400,) for column in data.columns().values())
    assert all(np.isfinite(column).all() for column in data.columns().values())


@EVERY
def test_same_seed_same_bits_and_another_seed_other_records(name):
    first, again, other = draw(name), draw(name), draw(name, seed=4)
    assert first.features.tobytes() == again.features.tobytes()
    assert first.target.tobytes() == again.target.tobytes()
    assert not np.array_equal(first.features, other.features)


@EVERY
def test_columns_differ_by_many_orders_and_lie_far_from_zero(name):
    features = draw(name, 4000).features
    spread = features.std(axis=0)
    assert spread.min() < 2e-6
    assert spread.max() > 5e5
    assert np.max(np.abs(np.median(features, axis=0)) / spread) > 35


@EVERY
def test_tails_are_heavy(name):
    features = draw(name, 20_000).features
    standardised = (features - features.mean(axis=0)) / features.std(axis=0)
    assert np.median((standardised**4).mean(axis=0)) > 8  # 3 for normal columns


@EVERY
@pytest.mark.parametrize("bad", [{"n_rows": 0}, {"n_rows": 2.5}, {"seed": -1}])
def test_bad_sizes_are_refused_in_one_sentence(name, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        simulate(name, **{"n_rows": 10, "seed": 0, **features_of(name, 2), **bad})


@EVERY
@pytest.mark.parametrize("size", [10**15, 10**19, 10**400])
def test_sizes_beyond_memory_are_refused_in_one_sentence(name, size):
    for beyond in ({"n_rows": size}, features_of(name, size)):
        if beyond:
            with pytest.raises(InputError, match="must be such that an array of these sizes fits"):
                simulate(name, **{"n_rows": 10, **features_of(name, 2), **beyond})


def test_unknown_simulator_is_refused_by_name():
    with pytest.raises(InputError, match="insurance-claims"):
        simulate("titanic", n_rows=10)
