"""Audits of the papers' solvers, each on one arbitrary record: rows of the quick audit.

Reference
---------
Kairouz, Oh and Viswanath 2015 (from errors of an attack to a bound on epsilon).
"""

from collections.abc import Callable
from functools import partial

from tailguard.audit.cases import ThresholdCase
from tailguard.audit.of_runs import lonely_case
from tailguard.papers import asi2024, solvers

KINDS = (
    asi2024.PopulationLocalised,
    solvers.DoublingAccelerated,
    solvers.DoublingLocalised,
    solvers.DpSgd,
    solvers.Localised,
    solvers.PermutedAccelerated,
    solvers.ShrinkingLocalised,
)
CASES: dict[str, Callable[[], ThresholdCase]] = {
    f"solver {kind.name}": partial(lonely_case, kind(**kind.example.shown or {})) for kind in KINDS
}
"""Row name -> audit."""
