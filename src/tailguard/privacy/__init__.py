"""Guarantees, events, accountants, books and certificates; numbers only, never a record.

An *event* says what a release cost, an *accountant* adds events up, a *guarantee* is what was
promised, the *books* hold what was reserved and released, and the *certificate* shows all of it.
"""

from tailguard.privacy.books import MemoryBooks

__all__ = ["MemoryBooks"]
