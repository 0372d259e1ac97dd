"""Every mechanism by name. One line here buys the contract tests.

Reference
---------
The mechanisms cite their own.
"""

from tailguard.checks import class_called
from tailguard.noise.mechanisms import Mechanism

MECHANISMS = {
    "gaussian": "tailguard.noise.mechanisms:GaussianMechanism",
    "laplace": "tailguard.noise.mechanisms:LaplaceMechanism",
}
"""Name -> ``"module:Class"``."""

PEELING_MECHANISMS = {
    "peeled-gaussian": "tailguard.noise.peeling:PeeledGaussian",
    "peeled-laplace": "tailguard.noise.peeling:PeeledLaplace",
}
"""The same, for mechanisms that choose entries and noise no others."""

SMOOTH_MECHANISMS = {
    "arsinh-normal": "tailguard.noise.smooth:ArsinhNormal",
    "smooth-gaussian": "tailguard.noise.smooth:SmoothGaussian",
}
"""The same, for mechanisms that take an answer together with the scale of its noise."""


def make_mechanism(name: str) -> Mechanism:
    """Return the mechanism called ``name``."""
    known = {**MECHANISMS, **PEELING_MECHANISMS, **SMOOTH_MECHANISMS}
    mechanism: Mechanism = class_called(name, known, "mechanism")()
    return mechanism
