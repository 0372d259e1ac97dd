"""Estimators in scikit-learn's shape: arguments in, coefficients and a certificate out.

The package exports the classes of its registry, and loads each of them at its first use.
"""

from tailguard.checks import with_named_arguments
from tailguard.estimators.registry import ESTIMATORS
from tailguard.lazy_names import found_when_asked

__places__ = dict(place.split(":")[::-1] for place in ESTIMATORS.values())
__all__ = list(__places__)
__dir__ = __all__.copy
__getattr__ = found_when_asked(__name__, __places__, with_named_arguments)
