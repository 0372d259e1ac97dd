"""tailguard: differentially private convex optimisation for heavy-tailed data.

Examples
--------
>>> import tailguard as tg
>>> claims = tg.datasets.insurance_claims(n_rows=2000, seed=0)
>>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(claims.features, claims.target)
>>> model.certificate_.mode
'private'
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import found_when_asked, places_of_stub
from tailguard.version import __version__ as __version__

__places__ = places_of_stub(__name__)
__all__ = list(__places__)
__dir__ = __all__.copy
__getattr__ = found_when_asked(__name__, __places__, with_named_arguments)
