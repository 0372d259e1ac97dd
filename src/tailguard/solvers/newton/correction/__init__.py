"""The last correction of squared losses: each record's contribution cut in its own metric."""
