"""Sums over blocks of records, one record at a time bounded, chunk by chunk on an integer lattice.

A kernel holds public parameters and turns a block of records into exact integers. Nothing that it
does for one record depends on another, and no answer depends on how the records were cut into
blocks or spread over threads.
"""
