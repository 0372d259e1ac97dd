"""Counts, quantiles, histograms, moments and correlations of a table's columns, on one budget."""
