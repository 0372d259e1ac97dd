"""Private means of heavy-tailed vectors; one estimator a file."""
