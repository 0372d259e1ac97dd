"""Every mechanism by name. One line here buys the contract tests.

Reference
---------
The mechanisms cite their own.
"""

from importlib import import_module
from typing import cast

from tailguard.checks import check_choice
from tailguard.noise.mechanisms import Mechanism

__all__ = ["MECHANISMS", "make_mechanism"]

MECHANISMS = {
    "gaussian": "tailguard.noise.mechanisms:Gaussian",
    "laplace": "tailguard.noise.mechanisms:Laplace",
}
"""Name -> ``"module:Class"``."""


def make_mechanism(name: str) -> Mechanism:
    """Return the mechanism called ``name``.

    Examples
    --------
    >>> make_mechanism("laplace").name
    'laplace'
    """
    check_choice("mechanism", name, MECHANISMS)
    module, mechanism = MECHANISMS[name].split(":")
    return cast("Mechanism", getattr(import_module(module), mechanism)())
