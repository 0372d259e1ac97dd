"""The laws of the number of tries: chances, means, limits."""

import math
from decimal import Decimal

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from tailguard.checks import InputError
from tailguard.privacy.events import LAWS
from tailguard.privacy.tries import NumberOfTries

MEANS = (1.0, 1.3, 5.0, 40.0)
every_law = pytest.mark.parametrize("law", LAWS)


def chances(tries):
    """All chances up to the limit."""
    found = [tries.first_chance()]
    for number in range(1, tries.limit):
        found.append(found[-1] * tries.chance_ratio(number))
    return np.array(found, dtype=float)


@every_law
@pytest.mark.parametrize("mean", MEANS)
def test_chances_add_up_to_one_and_have_the_mean(law, mean):
    tries = NumberOfTries(mean, law)
    found = chances(tries)
    numbers = 1 + np.arange(len(found))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found @ numbers == pytest.approx(mean, rel=1e-9)
    assert found @ numbers <= tries.mean_bound
    for share in (0.1, 0.5):
        assert tries.never(share) == pytest.approx(found @ (1.0 - share) ** numbers, rel=1e-9)


def test_of_very_many_tries_a_rare_kind_is_hardly_ever_missed():
    tries = NumberOfTries(900.0, "poisson")
    assert tries.never(0.2) == pytest.approx(math.exp(-180.0), rel=1e-9)
    assert (tries.never(0.0), tries.never(1.0)) == (1.0, 0.0)


@every_law
def test_the_limit_is_hardly_ever_exceeded(law):
    tries = NumberOfTries(6.0, law)
    beyond, chance = Decimal(0), tries.first_chance()
    for number in range(1, 3 * tries.limit):
        chance *= tries.chance_ratio(number)
        beyond += chance if number >= tries.limit else 0
    assert 0 < beyond < Decimal("1e-26")


@every_law
def test_one_expected_try_is_exactly_one(law):
    tries = NumberOfTries(1.0, law)
    assert tries.single
    assert (tries.limit, tries.first_chance(), tries.never(0.25)) == (1, 1, 0.75)
    assert not NumberOfTries(1.0 + 1e-9, law).single


@pytest.mark.parametrize(("law", "shape"), [("geometric", 1.0), ("logarithmic", 0.0)])
def test_gamma_is_that_of_the_package(law, shape):
    gamma_of = rdp_privacy_accountant._gamma_truncated_negative_binomial
    for mean in (2.0, 10.0, 300.0):
        assert NumberOfTries(mean, law).parameter == pytest.approx(gamma_of(shape, mean), rel=1e-6)


@pytest.mark.parametrize("mean", [0.9, 0, -1, 1e5, math.nan, math.inf, None, "ten", True])
def test_a_wrong_mean_is_refused(mean):
    with pytest.raises(InputError, match="n_tries must be a number from 1 to 1000; got"):
        NumberOfTries(mean)


def test_an_unknown_law_is_refused():
    with pytest.raises(InputError, match="law must be"):
        NumberOfTries(3.0, "uniform")
