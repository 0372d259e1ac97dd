"""Measure the claims of the papers on simulated records: one experiment a file."""
