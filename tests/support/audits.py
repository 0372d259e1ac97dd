"""Audits of one event: is it more frequent with one neighbour than a claim allows?

The claim is mu or (epsilon, delta), under which any event has ``P <= exp(epsilon) Q + delta``.
Bounds and powers are those of ``tailguard.audit.bounds``.
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

    In ``n_runs`` runs on each side, the event happened ``wrong`` times without the neighbour and
    failed to happen ``missed`` times with it. The power is that against a release at which these
    errors have the probabilities ``rates``.
    """
    return judge(profile_claim(epsilon, delta), wrong, missed, n_runs, **facts)


def runs_for_event(*, epsilon, delta, **facts):
    """Fewest runs per side at which :func:`event_audit` is nearly sure to detect these rates."""
    return runs_for(profile_claim(epsilon, delta), power=POWER, **facts)


def _planned(threshold, true_mu):
    """Both errors of a threshold on scores of unit variance around 0 and ``true_mu``.

    Their sum counts if both are equally likely (a threshold halfway).
    """
    rates = float(norm.sf(threshold)), float(norm.cdf(threshold - true_mu))
    return {"rates": rates, "summed": rates[0] == rates[1]}


def gdp_audit(null, shifted, *, threshold, claimed_mu, true_mu, false_alarm):
    """Accept unless the scores prove that the release is not ``claimed_mu``-GDP.

    A score above ``threshold`` means "neighbour". The power is that against ``true_mu``.
    """
    null, shifted = np.asarray(null), np.asarray(shifted)
    assert null.size == shifted.size
    wrong, missed = int((null > threshold).sum()), int((shifted <= threshold).sum())
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return judge(gaussian_claim(claimed_mu), wrong, missed, null.size, **facts)


def gdp_audit_power(n_runs, *, threshold, claimed_mu, true_mu, false_alarm):
    """Exact probability that :func:`gdp_audit` rejects a Gaussian mechanism of ``true_mu``."""
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return audit_power(gaussian_claim(claimed_mu), n_runs, **facts)


def runs_for_mu(*, threshold, claimed_mu, true_mu, false_alarm):
    """Fewest runs per side at which :func:`gdp_audit` is nearly sure to detect ``true_mu``."""
    facts = {**_planned(threshold, true_mu), "false_alarm": false_alarm}
    return runs_for(gaussian_claim(claimed_mu), **facts, power=POWER)


def mu_lower_bound(wrong, missed, n_runs, false_alarm):
    """Lower confidence bound on mu from both error counts."""
    chances = clopper_pearson_upper([wrong, missed], n_runs, false_alarm / 2)
    return float(gaussian_claim(1.0).least(*chances))


# Blocks in secret order: one of them differs, at an unknown place.

N_IDEAL = 200_000


def hidden_ratio(noises, mu):
    """Log-likelihood ratio of runs, one per row, in which one number is ``mu`` higher.

    It averages over the places where the higher number may be. No score is more powerful.
    """
    return np.logaddexp.reduce(mu * noises - mu**2 / 2.0, axis=1) - np.log(noises.shape[1])


def hidden_rates(mu, n_blocks, epsilon):
    """Probabilities of both errors if the ratio is compared with ``epsilon``, from ideal draws."""
    noises = np.random.default_rng(0).standard_normal((N_IDEAL, n_blocks))
    wrong = hidden_ratio(noises, mu) > epsilon
    noises[:, 0] += mu
    return float(wrong.mean()), float((hidden_ratio(noises, mu) <= epsilon).mean())
