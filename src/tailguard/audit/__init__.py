"""Attacks on ourselves: lower bounds on what releases tell, beside what is claimed of them.

Nothing here is private: audits run on made-up records, with noise that follows a seed.
"""
