"""Audits of one event: how much oftener it happens with one neighbour than a claim allows.

A claim of (epsilon, delta) says that any event has ``P <= exp(epsilon) Q + delta``. Two counts give
a lower bound on the delta that is needed, by Clopper and Pearson's bounds on both chances. What is
pure has delta 0; a whole profile may be audited at any epsilon.
"""

import numpy as np
from scipy.stats import binom

from support.statistics import Verdict, clopper_pearson_upper, gdp_audit_power, smallest_sample

POWER = 0.999


def event_audit(wrong, missed, n_runs, *, epsilon, delta, rates, false_alarm):
    """Accept unless the counts prove that more than ``delta`` is needed at ``epsilon``.

    Of ``n_runs`` a side, the event was seen ``wrong`` times without the neighbour and ``missed``
    as often with it. Power is that against a release at which these happen with chances ``rates``.
    """
    claim = {"epsilon": epsilon, "delta": delta, "false_alarm": false_alarm}
    above, below = clopper_pearson_upper([wrong, missed], n_runs, false_alarm / 2)
    proven = float(1.0 - below - np.exp(epsilon) * above)
    return Verdict(proven <= delta, proven, event_audit_power(n_runs, rates=rates, **claim))


def event_audit_power(n_runs, *, epsilon, delta, rates, false_alarm):
    """Exact chance that :func:`event_audit` rejects a release with these chances of errors.

    For each number of false positives it rejects where few enough events are missed.
    """
    counts = np.arange(n_runs + 1)
    upper = clopper_pearson_upper(counts, n_runs, false_alarm / 2)
    allowed = np.searchsorted(upper, 1.0 - np.exp(epsilon) * upper - delta)
    rejected = binom.cdf(allowed - 1, n_runs, rates[1])
    return float(binom.pmf(counts, n_runs, rates[0]) @ rejected)


def runs_for_event(**audit):
    """Fewest runs a side at which :func:`event_audit` is nearly sure to catch these rates."""
    return smallest_sample(lambda n_runs: event_audit_power(n_runs, **audit), POWER)


def runs_for_mu(**audit):
    """Fewest runs a side at which ``gdp_audit`` is nearly sure to catch ``true_mu``."""
    return smallest_sample(lambda n_runs: gdp_audit_power(n_runs, **audit), POWER)


# Blocks in secret order: one of them differs, and nobody knows which.

N_IDEAL = 200_000


def hidden_ratio(noises, mu):
    """Logarithm of the likelihood ratio of runs, one a row, of which one number is ``mu`` higher.

    There is no sharper score: it is the mean over the places where the higher one may be.
    """
    return np.logaddexp.reduce(mu * noises - mu**2 / 2.0, axis=1) - np.log(noises.shape[1])


def hidden_rates(mu, n_blocks, epsilon):
    """Chances of both errors where the ratio is held against ``epsilon``, from ideal draws."""
    noises = np.random.default_rng(0).standard_normal((N_IDEAL, n_blocks))
    wrong = hidden_ratio(noises, mu) > epsilon
    noises[:, 0] += mu
    return float(wrong.mean()), float((hidden_ratio(noises, mu) <= epsilon).mean())
