"""Gaussian differential privacy in 80-digit arithmetic: slow, and exact to the last float."""

import mpmath


def exact_delta(mu, epsilon):
    """The formula of Balle and Wang 2018, Theorem 8, as printed in the paper."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return _tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * _tail(epsilon / mu + mu / 2)


def _tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2
