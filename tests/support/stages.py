"""Stages of one release, for tests that use a gate without a plan."""

from tailguard.gate.stage import Stage
from tailguard.privacy.events import Laplace


def once(mu, name=""):
    """One release that spends mu."""
    return Stage(name, "", mu, 1, 1)


def pure(epsilon, name=""):
    """One release that spends epsilon, with Laplace noise."""
    return Stage.of(Laplace(epsilon), name, "", 1, 1)


def smooth(event, name=""):
    """One release that costs an event, with a noise scale that depends on the records."""
    return Stage.of(event, name, "", 1, 1, kept=event)


def of_sample(mu, n_rows, of_rows, name=""):
    """One release that spends mu on a sample of a given number of records."""
    return Stage(name, "", mu, 1, 1, sampled=n_rows / of_rows)
