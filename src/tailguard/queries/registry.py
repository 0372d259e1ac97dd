"""Every query by name. One line here buys the contract tests.

Reference
---------
The queries cite their own; the contract is Dwork, McSherry, Nissim and Smith 2006, Definition 3.
"""

from importlib import import_module
from typing import Any

from tailguard.checks import check_choice
from tailguard.queries.base import Query

__all__ = ["QUERIES", "make_query"]

QUERIES = {
    "mean-clipped-gradient": "tailguard.queries.clipped_gradient:MeanClippedGradient",
    "mean-record-gradient": "tailguard.queries.record_gradient:MeanRecordGradient",
    "count-below": "tailguard.queries.counts:CountBelow",
    "count-norms-below": "tailguard.queries.norm_counts:CountNormsBelow",
    "column-histograms": "tailguard.queries.column_histograms:ColumnHistograms",
    "whitened-histogram": "tailguard.queries.whitened_histogram:WhitenedHistogram",
    "second-moments": "tailguard.queries.second_moments:SecondMoments",
    "score-ladder": "tailguard.queries.score_ladder:ScoreLadder",
    "clamped-mean": "tailguard.queries.means.clamped:ClampedMean",
    "truncated-mean": "tailguard.queries.means.truncated:TruncatedMean",
    "soft-mean": "tailguard.queries.means.soft:SoftMean",
}
"""Name -> ``"module:Class"``."""


def make_query(name: str, **parameters: Any) -> Query:
    """Build a query by its name.

    Examples
    --------
    >>> make_query("count-below", columns=(0, 1))
    CountBelow(columns=(0, 1), paired=False)
    """
    module, _, attribute = QUERIES[check_choice("name", name, (*QUERIES,))].partition(":")
    query: Query = getattr(import_module(module), attribute)(**parameters)
    return query
