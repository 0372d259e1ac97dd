"""The papers: a package each with its parameters, its bounds, and its theorems as solvers.

Bounds are functions of public numbers: the constants that a theorem hides are set to 1, so read
slopes and ratios off them and not levels. :mod:`~tailguard.papers.fano` has a lower bound with all
of its constants, :mod:`~tailguard.papers.rates` the slopes of every mean estimator, and
:mod:`~tailguard.papers.common` what the papers share.
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import found_when_asked, places_of_stub

__places__ = places_of_stub(__name__)
__all__ = list(__places__)
__dir__ = __all__.copy
__getattr__ = found_when_asked(__name__, __places__, with_named_arguments)
