"""Overlapping blocks: random subsets of the records, none of which is in too many of them.

Reference
---------
Nissim, Raskhodnikova and Smith 2007 (sample and aggregate); Wang, Xiao, Devadas and Xu 2020,
Algorithm 1, steps 1 and 2.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import bdtrc

from tailguard.array_types import IntArray
from tailguard.noise.orders import random_sample
from tailguard.noise.sources import SimulationSource, Source

MOST_DRAWS = 50
# Where all of them succeed with less than this chance none is made.
HOPELESS = 1e-6


def largest_overlap(n_blocks: int) -> int:
    """Return in how many of so many blocks a record may be: the root of their number."""
    return math.isqrt(n_blocks - 1) + 1


@lru_cache(maxsize=1)  # 8 bytes a record
def overlapping_blocks(n_rows: int, n_blocks: int, order: int) -> tuple[IntArray, ...] | None:
    """Draw ``n_blocks`` subsets of ``n_rows // n_blocks`` records each; ``order`` numbers the draw.

    Places in an order are drawn, whatever records lie there: the blocks are as public as ``order``.

    *Guarantee.* No record is in more than ``largest_overlap(n_blocks)`` blocks.

    *Edge cases.* None where 50 draws in a row had a record in too many, or hardly could have had
    none; so it is for few blocks.

    *Reference.* Wang, Xiao, Devadas and Xu 2020, Algorithm 1, who go on drawing.
    """
    if MOST_DRAWS * _likely(n_rows, n_blocks) < HOPELESS:
        return None
    source = SimulationSource(order)
    for _ in range(MOST_DRAWS):
        blocks = _draw(source, n_rows, n_blocks)
        if blocks is not None:
            return blocks
    return None


def _likely(n_rows: int, n_blocks: int) -> float:
    """Bound the chance that a draw succeeds.

    In how many blocks a record is has a binomial law, and these numbers are negatively associated
    (Joag-Dev and Proschan 1983, Theorem 2.11): none is too large with at most the product of the
    records' chances.
    """
    share = (n_rows // n_blocks) / n_rows
    return math.exp(n_rows * math.log1p(-bdtrc(largest_overlap(n_blocks), n_blocks, share)))


def _draw(source: Source, n_rows: int, n_blocks: int) -> tuple[IntArray, ...] | None:
    """Draw all blocks, or none if a record is in too many of them."""
    times, most, blocks = np.zeros(n_rows, dtype=np.int64), largest_overlap(n_blocks), []
    for _ in range(n_blocks):
        block = random_sample(n_rows, n_rows // n_blocks, source)
        times[block] += 1
        if times[block].max() > most:
            return None
        block.setflags(write=False)
        blocks.append(block)
    return tuple(blocks)
