"""The terms in which papers state their noise, and its true cost."""

from collections.abc import Callable

from tailguard.checks import InputError
from tailguard.gate.stage import Share
from tailguard.means.base import amount_of
from tailguard.privacy.calibration import Calibration
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.base import Query, calibration_for

CALIBRATIONS = ("tight", "printed")
"""The least noise that has a proof, or the noise that the paper prints."""


def printed_in(guarantee: Guarantee) -> ApproxDP:
    """Return an (epsilon, delta) guarantee, in which a paper prints its noise; refuse others."""
    if isinstance(guarantee, ApproxDP):
        return guarantee
    raise InputError(
        "calibration must be 'tight' unless epsilon and delta are promised: the paper prints its "
        f"noise in them; got {guarantee!r}."
    )


def stated_rho(guarantee: Guarantee, convert: Callable[..., float]) -> float:
    """Return rho, in which a paper prints its noise; ``convert`` is its own conversion to rho."""
    if isinstance(guarantee, ApproxDP):
        return convert(epsilon=guarantee.epsilon, delta=guarantee.delta)
    return guarantee.gaussian_mu() ** 2 / 2.0


def share_with_rounding(
    query: Query, n_rows: int, n_features: int, share: Share, roundings: int = 1
) -> Share:
    """Return the cost of a release whose noise is exactly the ideal sensitivity over ``share``.

    Float errors and the rounding to the lattice add a cost to ``share``: a small one, unless
    ``share`` is very small. With a budget of only ``share`` the noise would be larger instead.
    """
    calibration = calibration_for(query, n_rows, n_features, share, roundings)
    assert isinstance(calibration, Calibration)
    sensitivity = calibration.sensitivity
    amount = amount_of(share) * sensitivity.computed / sensitivity.ideal  # with float errors
    # The rounding costs its part of the charged sensitivity.
    amount += calibration.share * (1.0 - sensitivity.computed / calibration.charged)
    return Gaussian(amount) if isinstance(share, Gaussian) else Laplace(amount)
