"""What was reserved and released, and which blocks of records it read."""

from tailguard.privacy.books.books import Books, MemoryBooks, ReadOnlyBooks, own_copy
from tailguard.privacy.books.releases import Release

__all__ = ["Books", "MemoryBooks", "ReadOnlyBooks", "Release", "own_copy"]
