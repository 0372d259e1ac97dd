"""Budgets of data sets that outlive the process: charged before release, capped, verifiable."""

from tailguard.ledger.ledger import Ledger

__all__ = ["Ledger"]
