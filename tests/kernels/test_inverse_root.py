"""One over a root, nearly: as near as is said, for every normal number."""

import numpy as np

from tailguard.kernels import inverse_root
from tailguard.kernels.inverse_root import nearly_inverse_root


def worst_error():
    rng = np.random.default_rng(0)
    values = 2.0 ** rng.uniform(-1021, 1023, 20_000)
    values = np.concatenate([values, np.linspace(1.0, 4.0, 20_001), [2.3e-308, 1.7e308]])
    return np.abs(nearly_inverse_root(values) * np.sqrt(values) - 1.0).max()


def test_it_is_as_near_as_it_says():
    assert worst_error() <= 4e-11


def test_one_step_less_is_seen(monkeypatch):
    monkeypatch.setattr(inverse_root, "STEPS", inverse_root.STEPS - 1)
    assert worst_error() > 1e-6
