"""The experiments: one declarative file a paper."""
