"""What divides records may be a released number below normal floats, which loops read as zero.

Zero over zero is NaN. The charge holds then, too: a record that is at the centre adds nothing that
others would be lost in.
"""

from dataclasses import replace

import numpy as np
import pytest

from support.attack import attack, lattice
from support.examples import query_examples
from tailguard.means.clipped import ClippedShells
from tailguard.queries.bounded_moments import BoundedMoments, CellProducts
from tailguard.queries.deviances import DevianceMoments
from tailguard.queries.view import Weighting

TINY = 1e-310


def with_tiny(example):
    """The example with tiny divisors, in each way that it has them."""
    query, state = example.query, example.state
    if isinstance(query, BoundedMoments | CellProducts):
        yield replace(example, state=(0.0 * state[0], np.full_like(state[1], TINY)))
    elif isinstance(query, DevianceMoments):
        yield replace(example, state=(0.0 * state[0], TINY))
    elif isinstance(query, ClippedShells):
        yield replace(example, query=replace(query, radii=(TINY, 5.0)))
    elif isinstance(getattr(query, "weighting", None), Weighting):
        for name in ("half_step", "slope_limit", "bound"):
            weighting = replace(query.weighting, **{name: TINY})
            yield replace(example, query=replace(query, weighting=weighting))


CASES = [tried for example in query_examples() for tried in with_tiny(example)]


@pytest.mark.parametrize("example", CASES, ids=lambda example: example.name)
def test_a_divisor_below_normal_floats_keeps_the_charge(example):
    assert attack(example, 200, seed=3) <= 1.0
    centre = np.zeros((40, example.width))
    assert np.abs(lattice(example, centre)).max() < 2**50
