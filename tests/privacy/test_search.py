"""A whole search shows no more than its certificate says, and more than one try would.

The record that differs moves model and score of every try at once, so that the best of many tries
has the sign of its target far oftener than one try has.
"""

import pytest

from privacy.mutants.faulty_gates import CountedAsOneTry
from privacy.searches import coefficients
from support.audits import event_audit
from tailguard.privacy.accounting.total_cost import ACCOUNTANTS
from tailguard.privacy.events import Gaussian, Selected

FAR = 1e9
# Chances that the best try has the wrong sign, from 40 000 ideal searches of each kind.
SEARCHES = {
    "poisson": (Selected(1.5, 10.0, "poisson"), 0.069),
    "geometric": (Selected(1.5, 10.0), 0.104),
}


def claim(event, epsilon):
    """The smallest delta that an accountant proves."""
    able = [ACCOUNTANTS[name]() for name in ACCOUNTANTS]
    return min(a.compose(event).delta(epsilon) for a in able if a.supports(event))


def audit(seen, event, epsilon, rate, false_alarm):
    """Hold the signs of best tries against what an event may cost."""
    wrong, missed = int((seen[1] > 0).sum()), int((seen[0] <= 0).sum())
    return event_audit(
        wrong,
        missed,
        len(seen[0]),
        epsilon=epsilon,
        delta=claim(event, epsilon),
        rates=(rate, rate),
        false_alarm=false_alarm,
    )


def check(law, n_runs, false_alarm):
    """Audit honest books, and those of a gate that counts one try."""
    event, rate = SEARCHES[law]
    halves = (range(n_runs), range(n_runs, 2 * n_runs))
    pairs = [coefficients(y, event, seeds) for y, seeds in zip((FAR, -FAR), halves, strict=True)]
    seen, booked = [pair[0] for pair in pairs], pairs[0][1]
    assert booked == event
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        assert audit(seen, booked, epsilon, rate, false_alarm).accepted
    # The mutant draws the same tries and books less.
    again, understated = coefficients(FAR, event, range(3), CountedAsOneTry)
    assert again.tolist() == seen[0][:3].tolist()
    assert understated == Gaussian(event.mu)
    verdict = audit(seen, understated, 0.0, rate, false_alarm)
    assert verdict.power > 0.99
    assert not verdict.accepted


@pytest.mark.long
def test_a_search_counted_as_one_try_is_caught_and_an_honest_one_is_not():
    check("poisson", n_runs=150, false_alarm=1e-3)


@pytest.mark.audit
@pytest.mark.parametrize(("law", "n_runs"), [("poisson", 270), ("geometric", 490)])
def test_the_same_at_a_lower_rate_of_false_alarms(law, n_runs):
    check(law, n_runs, false_alarm=1e-6)
