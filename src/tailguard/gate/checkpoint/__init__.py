"""The released answers of one run in a file, so that a run that was stopped goes on.

A checkpoint holds what left the gate and what is public, and nothing else: no key of an order, no
sample, no seed of noise.
"""
