"""Noise as the papers print it. Every code path without privacy starts here.

A printed run is charged the true cost of its noise. If that exceeds the guarantee or has no bound,
the run is a simulation: it takes no ledger, needs ``random_state=``, and its certificate says that
it is not private.
"""
