"""Rates of the private means: how a row is run, where its rate shows, and the slopes."""
