"""Amplification by a secret sample or shuffle, as privacy profiles.

Secret means drawn from the same cryptographic source as the noise, anew for every release, by a
rule that does not read the records, and never published. Otherwise nothing is amplified.
"""
