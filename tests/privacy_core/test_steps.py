"""Roots that fall short are stepped to the safe side: of every search, with a root that is off."""

import numpy as np
import pytest

from tailguard.privacy import selection, smooth_gaussian
from tailguard.privacy.accounting import gaussian, total_cost, zcdp
from tailguard.privacy.accounting.gaussian import GdpAccountant
from tailguard.privacy.amplification import shuffling
from tailguard.privacy.events import Gaussian, Repeated, Selected
from tailguard.privacy.guarantees import GDP, ApproxDP
from tailguard.privacy.tries import NumberOfTries

PROMISE, TRIES = ApproxDP(1.0, 1e-6), NumberOfTries(4.0)
CONSTANTS = smooth_gaussian.smooth_gaussian_constants.__wrapped__
SMALLEST = smooth_gaussian._smallest_epsilon.__wrapped__
BOUND = smooth_gaussian.delta_of_smooth_gaussian
EVENT = Selected(0.3, 6.0)
SHARE = 1e-7
"""By how much roots are off."""
SEARCHES = {  # module, search, whether what is found must be at most the root, whether it keeps
    "epsilon": (gaussian, lambda: gaussian.epsilon_of(1.0, 1e-6), -1,
                lambda x: gaussian.delta_of(1.0, x) <= 1e-6 * (1.0 + 1e-14)),
    "mu": (gaussian, lambda: gaussian.mu_of(1.0, 1e-6), 1,
           lambda x: gaussian.delta_of(x, 1.0) <= 1e-6 * (1.0 + 1e-14)),
    "rho": (zcdp, lambda: zcdp.rho_of(1.0, 1e-6), 1,
            lambda x: zcdp.epsilon_of_zcdp(x, 1e-6) <= 1.0),
    "clones": (shuffling, lambda: shuffling.clones_epsilon(50, 0.7, 1e-6), -1,
               lambda x: shuffling.clones_delta(50, 0.7, np.asarray(x)) <= 1e-6),
    "shuffled": (shuffling, lambda: shuffling._largest_mu.__wrapped__(0.5, 40, 1e-6), 1,
                 lambda x: shuffling.shuffled_epsilon(x, n_units=40, delta=1e-6) <= 0.5),
    "solved": (total_cost,
               lambda: total_cost.calibrate(lambda mu: Repeated(Gaussian(mu), 9), GDP(1.0)), 1,
               lambda x: GdpAccountant().compose(Repeated(Gaussian(x), 9)).total <= 1),
    "a try": (selection, lambda: selection.mu_of_a_try(PROMISE, TRIES), 1, lambda x: x < 0.2),
    "ratio": (selection, lambda: selection.density_log_ratio.__wrapped__(EVENT), -1,
              lambda x: x > 0.0),
    "constants": (smooth_gaussian, lambda: CONSTANTS(1.0, 1e-5, 2)[0], 1, lambda x: x > 0.0),
    "smooth epsilon": (smooth_gaussian, lambda: SMALLEST(BOUND, 0.03, 0.08, 2, 1e-5), 1,
                       lambda x: BOUND(0.03, 0.08, 2, x) <= 1e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
def test_a_root_on_the_wrong_side_is_stepped_back(monkeypatch, name):
    module, search, sign, keeps = SEARCHES[name]
    exact, crossing = search(), module.crossing
    monkeypatch.setattr(
        module, "crossing", lambda *given, **named: crossing(*given, **named) * (1 + sign * SHARE)
    )
    found = search()
    assert keeps(exact)
    assert keeps(found)
    assert found == pytest.approx(exact, rel=30 * SHARE)
