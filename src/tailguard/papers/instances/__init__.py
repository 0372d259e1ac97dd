"""Hard instances behind the papers' lower bounds, their packings, and laws with heavy tails.

A hard instance is a law of records with exact mean and moments.
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
