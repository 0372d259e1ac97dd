"""Reservations and releases, and the blocks of records that they read."""

from tailguard.privacy.books.books import (
    AnyLedger,
    Books,
    LedgerEntry,
    MemoryBooks,
    ReadOnlyBooks,
    own_copy,
)
from tailguard.privacy.books.releases import Release

__all__ = [
    "AnyLedger",
    "Books",
    "LedgerEntry",
    "MemoryBooks",
    "ReadOnlyBooks",
    "Release",
    "own_copy",
]
