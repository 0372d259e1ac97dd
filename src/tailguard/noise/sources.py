"""Where random words come from: the operating system, or a seed for simulations.

A word is 64 uniform binary digits. A sampler gets all words of one draw at once and keeps none, so
two draws, or two forked processes, never share a word.

Reference
---------
Mironov 2012 and Garfinkel and Leclerc 2020 (why a privacy claim may rest neither on a seeded nor on
a floating-point generator).
"""

import os
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError, check_integer, shown

Words = NDArray[np.uint64]


class CryptographicSource:
    """Words from the operating system's cryptographic generator; nothing is kept between calls.

    Guarantee
    ---------
    As unpredictable as ``os.urandom``, and safe across ``fork`` because there is no state here.
    """

    private = True
    n_drawn = 0  # not counted: no run can draw these words again

    def move_to(self, n_drawn: int) -> None:
        """Do nothing: these words have no order."""

    def words(self, count: int) -> Words:
        """Return ``count`` fresh words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SimulationSource:
    """Words that a seed reproduces exactly, for simulations and tests. NOT private.

    Guarantee
    ---------
    None: anyone who knows or guesses the seed can remove the noise. A run that draws from here must
    be labelled a simulation, and must not be charged to a ledger.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.PCG64(check_integer("random_state", seed, minimum=0))
        self.n_drawn = 0  # the place in the stream, from which a resumed run draws on

    def move_to(self, n_drawn: int) -> None:
        """Skip to the word after the first ``n_drawn`` of the seeded stream."""
        self._generator.advance(n_drawn - self.n_drawn)
        self.n_drawn = n_drawn

    def words(self, count: int) -> Words:
        """Return the next ``count`` words of the seeded stream."""
        self.n_drawn += count
        words: Words = self._generator.random_raw(count)
        words.setflags(write=False)  # as the words of the private source
        return words


Source: TypeAlias = CryptographicSource | SimulationSource
"""A source of random words, which states whether they are private."""


def make_source(random_state: int | None) -> Source:
    """Return the private source for None, and a simulation for a whole-number seed."""
    if random_state is None:
        return CryptographicSource()
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise InputError(
            "random_state must be None for private noise or a whole number of at least 0 for a "
            f"simulation that is not private; got {shown(random_state)}."
        )
    return SimulationSource(int(random_state))
