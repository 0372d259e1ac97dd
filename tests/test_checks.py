"""The ranges of privacy parameters."""

import math

import pytest

from tailguard.checks import InputError, check_cost, check_failure


def test_what_is_allowed():
    assert check_cost("mu", 0) == 0.0
    assert check_cost("mu", math.inf) == math.inf
    assert check_failure("delta", 0) == 0.0
    assert check_failure("delta", 1e-300) == 1e-300


@pytest.mark.parametrize("bad", [-1e-300, math.nan, True, "0", None, 1j])
def test_what_is_refused(bad):
    with pytest.raises(InputError, match="mu must be a number of at least 0; got"):
        check_cost("mu", bad)
    with pytest.raises(InputError, match="delta must be a number of at least 0 and below 1; got"):
        check_failure("delta", bad)


def test_a_certain_failure_is_refused():
    with pytest.raises(InputError):
        check_failure("delta", 1)
