"""The non-private robust mean: near the mean of heavy tails, and labelled for what it is."""

import math

import numpy as np
import pytest

import tailguard as tg


def test_it_keeps_its_error_bound_where_the_sample_mean_does_not():
    rng = np.random.default_rng(0)
    nats = -math.log(0.01)
    bound = (1 + 1 / math.sqrt(2 * nats)) * math.sqrt(2 * nats * 3.0 / 500)
    worst = 0.0
    for _ in range(200):
        x = rng.standard_t(3, 500)
        found = tg.papers.baselines.robust_mean(x, moment_bound=3.0, failure_probability=0.01)
        worst = max(worst, abs(found))
    assert worst <= bound


def test_one_record_cannot_take_it_along():
    x = np.zeros(1000)
    x[0] = 1e300
    assert abs(tg.papers.baselines.robust_mean(x, moment_bound=1.0)) < 0.03


def test_columns_vectors_and_void_records():
    x = np.random.default_rng(1).standard_normal((400, 2))
    x[3, 1] = np.nan
    both = tg.papers.baselines.robust_mean(x, moment_bound=1.0)
    x[3] = 0.0
    alone = [tg.papers.baselines.robust_mean(column, moment_bound=1.0) for column in x.T]
    np.testing.assert_allclose(both, alone, atol=1e-12)
    assert isinstance(alone[0], float)


def test_without_a_bound_it_takes_that_of_the_data():
    x = np.random.default_rng(2).standard_normal((5_000, 1)) * 1e6
    assert abs(tg.papers.baselines.robust_mean(x)[0] - x.mean()) < 1e5
    assert tg.papers.baselines.robust_mean(np.zeros(10)) == 0.0


@pytest.mark.parametrize(
    "options", [{"failure_probability": 0.6}, {"failure_probability": 0}, {"moment_bound": -1.0}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(tg.InputError, match=next(iter(options))):
        tg.papers.baselines.robust_mean(np.zeros(5), **options)
    with pytest.raises(tg.InputError, match="X must have"):
        tg.papers.baselines.robust_mean(np.zeros((0, 2)))
