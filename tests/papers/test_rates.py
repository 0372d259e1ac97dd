"""The table of slopes; ``reproduce/test_regimes.py`` compares it with what plans predict."""

import pytest

from tailguard.checks import InputError
from tailguard.papers.rates import MEAN_RATES


@pytest.mark.parametrize("method", MEAN_RATES)
def test_every_row_of_the_table_is_plausible(method):
    rate = MEAN_RATES[method]
    order = rate.maximum_order or 2.0
    assert rate.method == method
    assert -1 < rate.slope_in_rows(order) < 0 < rate.slope_in_features(order) <= 1
    with pytest.raises(InputError, match="moment_order"):
        rate.slope_in_rows(1.0)
