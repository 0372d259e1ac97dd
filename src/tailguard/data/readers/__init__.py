"""Tables that are not in memory: files, and tables of other libraries, read in batches."""
