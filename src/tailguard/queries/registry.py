"""Every query by name. The contract tests run for every line; a new mean needs nothing else.

A line states that the proof of its class covers every input. The gate admits these classes and no
others. The query of a mean is in ``means/``, in the file of its method.

Reference
---------
The queries cite their own; the contract is Dwork, McSherry, Nissim and Smith 2006, Definition 3.
"""

QUERIES = {
    "mean-clipped-gradient": "tailguard.queries.clipped_gradient:MeanClippedGradient",
    "mean-record-gradient": "tailguard.queries.record_gradient:MeanRecordGradient",
    "count-norms-below": "tailguard.queries.norm_counts:CountNormsBelow",
    "clipped-minimiser": "tailguard.queries.clipped_minimiser:ClippedMinimiser",
    "column-histograms": "tailguard.queries.histograms:ColumnHistograms",
    "level-counts": "tailguard.queries.level_tables:LevelCounts",
    "whitened-histogram": "tailguard.queries.histograms:WhitenedHistogram",
    "second-moments": "tailguard.queries.second_moments:SecondMoments",
    "level-gradients": "tailguard.queries.clip_levels:LevelGradients",
    "contribution-levels": "tailguard.queries.clip_levels:ContributionLevels",
    "softmax-gradients": "tailguard.queries.softmax_gradients:SoftmaxGradients",
    "loss-differences": "tailguard.queries.loss_differences:LossDifferences",
    "clipped-shells": "tailguard.means.clipped:ClippedShells",
    "clamped-mean": "tailguard.means.clamped:ClampedMean",
    "truncated-mean": "tailguard.means.truncated:TruncatedMean",
    "soft-mean": "tailguard.means.soft:SoftMean",
    "iterative-mean": "tailguard.means.iterative:IterativeMean",
    "count-magnitudes": "tailguard.queries.magnitudes:CountMagnitudes",
    "peeled-step": "tailguard.queries.peeling:PeeledStep",
    "usable-records": "tailguard.queries.usable_records:UsableRecords",
    "cell-kinds": "tailguard.queries.usable_records:CellKinds",
    "value-histograms": "tailguard.queries.value_histograms:ValueHistograms",
    "level-tables": "tailguard.queries.level_tables:LevelTables",
    "count-of-levels": "tailguard.queries.level_tables:CountOfLevels",
    "bounded-moments": "tailguard.queries.bounded_moments:BoundedMoments",
    "cell-products": "tailguard.queries.bounded_moments:CellProducts",
    "deviance-sizes": "tailguard.queries.deviances:DevianceSizes",
    "deviance-moments": "tailguard.queries.deviances:DevianceMoments",
    "target-totals": "tailguard.queries.target_totals:TargetTotals",
    "weight-totals": "tailguard.queries.usable_records:WeightTotals",
}
"""Name -> ``"module:Class"``."""

SMOOTH_QUERIES = {
    "trimmed-mean": "tailguard.means.trimmed:TrimmedMean",
    "sample-aggregate": "tailguard.queries.sample_aggregate:SampleAggregate",
}
"""Queries that also return the scale of their noise; they have contract tests of their own."""
