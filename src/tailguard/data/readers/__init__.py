"""Tables that are not in memory: files, and what other libraries read in batches."""
