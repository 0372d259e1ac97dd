"""Simulators with public parameters, for examples, benchmarks and the demo; no private data.

Each returns a :class:`~tailguard.datasets.dataset.Dataset` with its true coefficients, so estimates
can be compared with the truth.
"""

from tailguard.checks import with_named_arguments
from tailguard.datasets.dataset import Dataset
from tailguard.datasets.heavy_tailed import (
    heavy_tailed_linear,
    heavy_tailed_logistic,
    heavy_tailed_poisson,
)
from tailguard.datasets.insurance import insurance_claims
from tailguard.datasets.registry import SIMULATORS, simulate

__all__ = [
    "SIMULATORS",
    "Dataset",
    "heavy_tailed_linear",
    "heavy_tailed_logistic",
    "heavy_tailed_poisson",
    "insurance_claims",
    "simulate",
]
__calls__ = [with_named_arguments(globals()[name], methods=False) for name in __all__]
