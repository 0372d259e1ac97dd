"""Audits of one event: how much oftener it happens with one neighbour than a claim allows.

What is claimed may be mu, or (epsilon, delta), which says that any event has ``P <= exp(epsilon) Q
+ delta``. Bounds and powers are those of ``tailguard.audit.bounds``.
"""

import numpy as np
from scipy.stats import norm

from tailguard.audit.bounds import (
    audit_power,
    clopper_pearson_upper,
    gaussian_claim,
    judge,
    profile_claim,
    runs_for,
)

POWER = 0.999


def event_audit(wrong, missed, n_runs, *, epsilon, delta, **facts):
    """Accept unless the counts prove that more than ``delta`` is needed at ``epsilon``.

    Of ``n_runs`` a side, the event was seen ``wrong`` times without the neighbour and ``missed``
    as often with it. Power is that against a release at which these happen with chances ``rates``.
    """
    return judge(profile_claim(epsilon, delta), wrong, missed, n_runs, **facts)


def runs_for_event(*, epsilon, delta, **facts):
    """Fewest runs a side at which :func:`event_audit` is nearly sure to catch these rates."""
    return runs_for(profile_claim(epsilon, delta), power=POWER, **facts)


def gaussian_errors(threshold, true_mu):
    """Chances of errors of a threshold, of scores of unit variance around 0 and ``true_mu``."""
    return float(norm.sf(threshold)), float(norm.cdf(threshold - true_mu))


def _planned(threshold, true_mu):
    """Errors to plan runs by; where both are equally likely, a threshold halfway, their sum."""
    rates = gaussian_errors(threshold, true_mu)
    return {"rates": rates, "summed": rates[0] == rates[1]}


def gdp_audit(null, shifted, *, threshold, claimed_mu, true_mu, false_alarm):
    """Accept unless the scores prove that the release is not ``claimed_mu``-GDP.

    A score above ``threshold`` is read as "neighbour". The power is that against ``true_mu``.
    """
    null, shifted = np.asarray(null), np.asarray(shifted)
    assert null.size == shifted.size
    wrong, missed = int((null > threshold).sum()), int((shifted <= threshold).sum())
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return judge(gaussian_claim(claimed_mu), wrong, missed, null.size, **facts)


def gdp_audit_power(n_runs, *, threshold, claimed_mu, true_mu, false_alarm):
    """Exact chance that :func:`gdp_audit` rejects a Gaussian mechanism of ``true_mu``."""
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return audit_power(gaussian_claim(claimed_mu), n_runs, **facts)


def runs_for_mu(*, threshold, claimed_mu, true_mu, false_alarm):
    """Fewest runs a side at which :func:`gdp_audit` is nearly sure to catch ``true_mu``."""
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return runs_for(gaussian_claim(claimed_mu), **facts, power=POWER)


def mu_lower_bound(wrong, missed, n_runs, false_alarm):
    """Lower confidence bound on mu from both error counts."""
    chances = clopper_pearson_upper([wrong, missed], n_runs, false_alarm / 2)
    return float(gaussian_claim(1.0).least(*chances))


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
