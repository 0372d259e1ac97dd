"""What the papers state their noise in."""

from tailguard.checks import InputError
from tailguard.privacy.guarantees import ApproxDP, Guarantee

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
