"""What the papers state their noise in, and what it truly costs."""

from collections.abc import Callable

from tailguard.checks import InputError
from tailguard.gate.stage import Share
from tailguard.means.base import amount_of
from tailguard.privacy.calibration import Calibration
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.base import Query, calibration_for

CALIBRATIONS = ("tight", "printed")
"""The least noise that is proved, or the noise that the paper prints."""


def printed_in(guarantee: Guarantee) -> ApproxDP:
    """Return a guarantee for noise that its paper prints in epsilon and delta; refuse any other."""
    if isinstance(guarantee, ApproxDP):
        return guarantee
    raise InputError(
        "calibration must be 'tight' unless epsilon and delta are promised: the paper prints its "
        f"noise in them; got {guarantee!r}."
    )


def stated_rho(guarantee: Guarantee, convert: Callable[..., float]) -> float:
    """Return rho for noise that its paper prints in it, to which it converts epsilon and delta."""
    if isinstance(guarantee, ApproxDP):
        return convert(epsilon=guarantee.epsilon, delta=guarantee.delta)
    return guarantee.gaussian_mu() ** 2 / 2.0


def share_with_rounding(
    query: Query, n_rows: int, n_features: int, share: Share, roundings: int = 1
) -> Share:
    """Return what a release costs whose noise is exactly the ideal sensitivity over ``share``.

    Float errors and the rounding to the lattice cost something beside ``share``: little, unless
    ``share`` is very small. At a budget of ``share`` alone the noise would be larger instead.
    """
    found = calibration_for(query, n_rows, n_features, share, roundings)
    assert isinstance(found, Calibration)
    known = found.sensitivity
    amount = amount_of(share) * known.computed / known.ideal
    amount += found.share * (1.0 - known.computed / found.charged)
    return Gaussian(amount) if isinstance(share, Gaussian) else Laplace(amount)
