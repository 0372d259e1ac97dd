"""The clip of one vector: bounded in exact arithmetic, for every input."""

from fractions import Fraction

import numpy as np
import pytest

from support.adversary import records
from tailguard.queries.clipping import safe_clip


@pytest.mark.parametrize("limit", [1.0, 1e-150, 3e7])
@pytest.mark.parametrize("size", [1, 2, 9, 100])
def test_the_norm_never_exceeds_the_limit(limit, size):
    rng = np.random.default_rng(size)
    largest = Fraction(0)
    for vector in [*records(rng, 100, size), *rng.standard_normal((100, size)) * limit]:
        clipped = safe_clip(vector, limit)
        assert np.isfinite(clipped).all()
        norm_squared = sum(Fraction(float(entry)) ** 2 for entry in clipped)
        largest = max(largest, norm_squared)
        assert norm_squared <= Fraction(limit) ** 2
    assert largest > Fraction(limit) ** 2 * Fraction(0.999999)


def test_short_vectors_are_left_alone_and_long_ones_keep_their_direction():
    short = np.array([0.3, -0.4])
    np.testing.assert_array_equal(safe_clip(short, 1.0), short)
    np.testing.assert_allclose(safe_clip(short * 1e300, 1.0), [0.6, -0.8], rtol=1e-14)
    np.testing.assert_array_equal(safe_clip(np.zeros(3), 1.0), np.zeros(3))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_one_entry_that_is_not_finite_makes_the_vector_zero(value, place):
    vector = np.ones(2)
    vector[place] = value
    np.testing.assert_array_equal(safe_clip(vector, 1.0), [0.0, 0.0])
    assert not np.isfinite(vector[place])  # a copy was clipped
