"""Random sources that tests control."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class QuietSource:
    """Return the median as every word, so every sampler draws zero noise."""

    private = False

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, 2**63, dtype=np.uint64)


class ScriptedSource:
    """Return the given words in order, then fail; ``exhausted`` is whether all were used."""

    private = False

    def __init__(self, words: Iterable[int]) -> None:
        self._remaining = list(words)

    @property
    def exhausted(self) -> bool:
        return not self._remaining

    def words(self, count: int) -> NDArray[np.uint64]:
        assert count <= len(self._remaining), "the script is too short"
        taken, self._remaining = self._remaining[:count], self._remaining[count:]
        return np.array(taken, dtype=np.uint64)
