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
from tailguard.lazy_names import shown_by_stub
from tailguard.version import __version__ as __version__

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
