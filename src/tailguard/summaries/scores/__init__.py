"""Scores of models on a table: how well they predict, with intervals."""
