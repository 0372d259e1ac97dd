"""Simulators by name; a line here adds a simulator to the command line and the tests."""

from tailguard.checks import class_called
from tailguard.datasets.dataset import Dataset

SIMULATORS = {
    "insurance-claims": "tailguard.datasets.insurance:insurance_claims",
    "heavy-tailed-linear": "tailguard.datasets.heavy_tailed:heavy_tailed_linear",
    "heavy-tailed-logistic": "tailguard.datasets.heavy_tailed:heavy_tailed_logistic",
    "heavy-tailed-poisson": "tailguard.datasets.heavy_tailed:heavy_tailed_poisson",
}


def simulate(name: str, **parameters: object) -> Dataset:
    """Run the simulator called ``name``, with its parameters as keywords.

    Examples
    --------
    >>> simulate("heavy-tailed-linear", n_rows=5, n_features=2, seed=3).features.shape
    (5, 2)
    """
    return class_called(name, SIMULATORS)(**parameters)
