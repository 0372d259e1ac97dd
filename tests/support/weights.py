"""Weights that every call refuses, for a table with a column ``w``."""

MISUSED = [
    ({"sample_weight": "w"}, "weight_bound must be declared beside sample_weight="),
    ({"weight_bound": 4.0}, "weight_bound must be left out without sample_weight=;"),
    ({"sample_weight": "w", "weight_bound": -1.0}, "weight_bound must be"),
    ({"sample_weight": "w", "weight_bound": 1e308}, "weight_bound must be such that .* finite"),
    ({"sample_weight": "nobody", "weight_bound": 1.0}, "must have a column 'nobody'"),
    ({"sample_weight": [1.0], "weight_bound": 1.0}, "sample_weight must have one entry per row"),
]
"""Arguments, and words of the error message."""
