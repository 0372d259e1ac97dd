"""Faults seeded in the trusted rooms one at a time, and whether their tests see them."""
