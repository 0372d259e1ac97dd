"""Queries: records in, a vector with a stated sensitivity out."""
