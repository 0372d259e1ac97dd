"""The parts of the default method: units, whitening, clip levels, rounds, calibration, errors."""
