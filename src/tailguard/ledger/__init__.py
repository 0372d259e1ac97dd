"""Budgets of data sets that outlive the process: charged before a release, capped, verifiable."""

from tailguard.ledger.ledger import Ledger

__all__ = ["Ledger"]
