from tailguard.papers.xu2025 import parameters as parameters
from tailguard.papers.xu2025 import quoted as quoted
from tailguard.papers.xu2025.bounds import accelerated_bound as accelerated_bound
from tailguard.papers.xu2025.bounds import accelerated_tsybakov_bound as accelerated_tsybakov_bound
from tailguard.papers.xu2025.bounds import localized_bound as localized_bound
from tailguard.papers.xu2025.bounds import localized_risk as localized_risk
from tailguard.papers.xu2025.bounds import tsybakov_bound as tsybakov_bound
from tailguard.papers.xu2025.bounds import tsybakov_lower_bound as tsybakov_lower_bound
from tailguard.papers.xu2025.bounds import (
    tsybakov_lower_bound_sampling as tsybakov_lower_bound_sampling,
)
from tailguard.papers.xu2025.theorems import accelerated as accelerated
from tailguard.papers.xu2025.theorems import accelerated_growth as accelerated_growth
from tailguard.papers.xu2025.theorems import localised as localised
from tailguard.papers.xu2025.theorems import tsybakov as tsybakov
from tailguard.papers.xu2025.theorems import unknown_growth as unknown_growth
