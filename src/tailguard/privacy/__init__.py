"""Guarantees, events, accountants, books and certificates; numbers only, never a record.

An *event* is the cost of a release; an *accountant* adds events up; a *guarantee* is the promise;
the *books* record reservations and releases; the *certificate* states all of these.
"""

from tailguard.privacy.books import MemoryBooks

__all__ = ["MemoryBooks"]
