"""Stages of one release, for tests that ask a gate without a plan."""

from tailguard.plans.stage import PureStage, SmoothStage, Stage


def once(mu, name=""):
    """One release that spends mu."""
    return Stage(name, "", mu, 1, 1)


def pure(epsilon, name=""):
    """One release that spends epsilon, with Laplace noise."""
    return PureStage(name, "", epsilon, 1, 1)


def smooth(event, name=""):
    """One release that costs an event, with noise that follows the records."""
    return SmoothStage(name, "", 1.0, 1, 1, share=event, kept=event)


def of_sample(mu, n_rows, of_rows, name=""):
    """One release that spends mu on a sample of so many records."""
    return Stage(name, "", mu, 1, 1, sampled=n_rows / of_rows)
