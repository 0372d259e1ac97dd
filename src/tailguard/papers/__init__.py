"""The papers: a package each with its parameters, its bounds, and its theorems as solvers.

Bounds are functions of public numbers. The hidden constants of theorems are set to 1, so only
slopes and ratios of bounds are meaningful, and not levels. :mod:`~tailguard.papers.fano` has a
lower bound with all of its constants, :mod:`~tailguard.papers.rates` the slopes of every mean
estimator, and :mod:`~tailguard.papers.common` what the papers share.
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
