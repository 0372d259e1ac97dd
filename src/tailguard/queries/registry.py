"""Every query by name. One line here buys the contract tests.

Reference
---------
The queries cite their own; the contract is Dwork, McSherry, Nissim and Smith 2006, Definition 3.
"""

__all__ = ["QUERIES"]

QUERIES = {
    "mean-clipped-gradient": "tailguard.queries.clipped_gradient:MeanClippedGradient",
    "mean-record-gradient": "tailguard.queries.record_gradient:MeanRecordGradient",
    "count-below": "tailguard.queries.counts:CountBelow",
    "count-norms-below": "tailguard.queries.norm_counts:CountNormsBelow",
}
"""Name -> ``"module:Class"``.

Examples
--------
>>> sorted(QUERIES)[0]
'count-below'
"""
