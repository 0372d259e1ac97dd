"""Event trees for property tests, and books in which events are reserved."""

import math

from hypothesis import strategies as st

from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
    ShuffledPure,
    ZeroConcentrated,
)


def books_with(*events):
    """New books in which these events are reserved."""
    books = MemoryBooks()
    for event in events:
        books.reserve(event)
    return books


# Only a few, because each profile takes a moment.
AMPLIFIED = [
    *(Sampled(0.5, 0.1), Sampled(1.0, 0.01), Sampled(0.5, 0.1, "poisson")),
    *(Shuffled(0.3, 50), Shuffled(0.2, 1000), ShuffledPure(0.5, 50), ShuffledPure(0.2, 1)),
    *(Selected(0.3, 10.0), Selected(0.1, 3.0, "logarithmic"), Selected(0.2, 5.0, "poisson")),
]
SIZES = st.floats(0.01, 1.0)
LEAVES = st.one_of(
    st.just(Nothing()),
    st.builds(Gaussian, SIZES),
    st.builds(Laplace, SIZES),
    st.builds(Pure, SIZES),
    st.builds(BoundedRange, SIZES),
    st.builds(ZeroConcentrated, SIZES),
    st.builds(Approximate, SIZES, st.floats(1e-12, 1e-3)),
    st.sampled_from(AMPLIFIED),
)


def trees_of(leaves):
    """Trees of compositions of the given leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Repeated, inner, st.integers(1, 5)),
            st.builds(Composed, st.lists(inner, max_size=3).map(tuple)),
            st.builds(Parallel, st.sampled_from(["halves", "thirds"]), st.integers(0, 2), inner),
        ),
        max_leaves=6,
    )


TREES = trees_of(LEAVES)
GAUSSIAN_TREES = trees_of(st.builds(Gaussian, SIZES))


def epsilon_of_zcdp_simple(rho, delta):
    """The textbook's conversion (Bun and Steinke 2016, Proposition 1.3), looser than ours."""
    return rho + 2.0 * math.sqrt(-rho * math.log(delta))
