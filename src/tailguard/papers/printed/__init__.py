"""Noise as the papers print it. Every path of the package that protects nothing begins here.

A printed run is charged what its noise truly costs. Where that is more than the guarantee, or has
no bound, it is a simulation: it takes no ledger, needs ``random_state=``, and its certificate says
that it is not private.
"""
