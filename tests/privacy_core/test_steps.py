"""Roots that fall short are stepped to the safe side: of every search, with a root that is off."""

import pytest

from tailguard.privacy.accounting import concentrated, gaussian, solve
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.amplification import clones, grouped, shuffled
from tailguard.privacy.amplification.clones import Clones
from tailguard.privacy.events import Gaussian, Repeated, Selected, smooth_gaussian
from tailguard.privacy.guarantees import GDP, ApproxDP
from tailguard.privacy.selection import budget, costs
from tailguard.privacy.selection.tries import NumberOfTries

PAIR, PROMISE, TRIES = Clones(50, 0.7), ApproxDP(1.0, 1e-6), NumberOfTries(4.0)
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
    "rho": (concentrated, lambda: concentrated.rho_of(1.0, 1e-6), 1,
            lambda x: concentrated.epsilon_of_zcdp(x, 1e-6) <= 1.0),
    "clones": (clones, lambda: PAIR.epsilon(1e-6), -1, lambda x: PAIR.delta_at(x) <= 1e-6),
    "shuffled": (shuffled, lambda: shuffled._largest_mu.__wrapped__(0.5, 40, 1e-6), 1,
                 lambda x: shuffled.shuffled_epsilon(x, n_units=40, delta=1e-6) <= 0.5),
    "solved": (solve, lambda: solve.calibrate(lambda mu: Repeated(Gaussian(mu), 9), GDP(1.0)), 1,
               lambda x: GdpAccountant().compose(Repeated(Gaussian(x), 9)).total <= 1),
    "a try": (budget, lambda: budget.mu_of_a_try(PROMISE, TRIES), 1, lambda x: x < 0.2),
    "ratio": (costs, lambda: costs.density_log_ratio.__wrapped__(EVENT), -1, lambda x: x > 0.0),
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


def test_a_guess_that_is_too_large_is_stepped_down():
    found = grouped._stepped(Gaussian, PROMISE, 1.001 * PROMISE.gaussian_mu())
    assert solve.satisfies(Gaussian(found), PROMISE)
