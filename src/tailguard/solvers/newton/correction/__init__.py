"""The last corrections: contributions cut in their own metric; totals that a log link predicts."""
