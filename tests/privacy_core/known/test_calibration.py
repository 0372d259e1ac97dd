"""Shares that every lattice grants, and the deviations of noise of either kind."""

from tailguard.privacy.events import calibration as module
from tailguard.privacy.events.calibration import Calibration, Sensitivity

MOVED = Sensitivity("l1", 1.0, 1.5, 7, 9.0, 10.0)


def test_calibrations(known):
    made = [Calibration(MOVED, name, 2.0, 3.0, 4, 5.0, 6.0) for name in ("gaussian", "laplace")]
    known(
        [
            *(module.SMALLEST_SHARE, module.LARGEST_SHARE, module.LARGEST_RECORDS_SHARE),
            *(MOVED, MOVED.integer),
            *([each.norm, each.size, each.parameters(), each.noise_std] for each in made),
        ]
    )
