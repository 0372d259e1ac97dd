"""Audits: lower bounds on the privacy loss of releases, compared with the claimed loss.

Nothing here is private: audits run on made-up records, with noise that follows a seed.
"""
