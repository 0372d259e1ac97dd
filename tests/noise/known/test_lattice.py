"""Lattices and noise of every form on a grid, the ends of what fits, and what is refused."""

import math

import pytest

from support.known import outcome
from tailguard.noise import lattice
from tailguard.noise.lattice import gaussian_calibration, laplace_calibration
from tailguard.privacy.events.calibration import (
    LARGEST_RECORDS_SHARE,
    LARGEST_SHARE,
    SMALLEST_SHARE,
    Sensitivity,
)

FORMS = {"l2": gaussian_calibration, "l1": laplace_calibration}
SHARES = (2.0**-24, 1e-3, 0.1, 0.5, 1.0, 7.0, 1e3, 2.0**17)
every_form = pytest.mark.parametrize("norm", FORMS)
BAD = (0.0, -1.0, math.nan, math.inf, None)


def moved(norm, *, ideal=2.0, computed=2.5, size=1, partial=9.0, total=9.0, integer=False):
    return Sensitivity(norm, ideal, computed, size, partial, total, integer)


@every_form
@pytest.mark.parametrize("share", SHARES)
def test_calibrations(known, norm, share):
    cases = [
        *(moved(norm, size=size) for size in (1, 3, 1000)),
        *(moved(norm, partial=10.0**p, total=10.0**p) for p in (3, 9, 12, 15, 18)),
        *(moved(norm, total=10.0**p) for p in (10, 13, 16, 19)),
        *(moved(norm, integer=True, ideal=x, computed=x, total=1e6) for x in (1.0, 1.5, 200.0)),
        moved(norm, ideal=1e-250, computed=1e250),
    ]
    known([outcome(FORMS[norm], each, share) for each in cases], rel=1e-15)


@pytest.mark.parametrize("grid", [1.0, 2.0**-40, 3.0])
def test_the_ends_of_what_fits_a_lattice(grid):
    ends = {"partial": lattice.LARGEST_PARTIAL * grid, "total": lattice.LARGEST_TOTAL * grid}
    for name, end in ends.items():
        places = (math.nextafter(end, 0.0), end, math.nextafter(end, math.inf))
        fits = [lattice._fits(moved("l2", **{name: place}), grid) for place in places]
        assert fits == [True, True, False]


@every_form
def test_the_smallest_share_that_rounding_leaves(known, norm):
    form = FORMS[norm]
    term = (1 + 2.0**-8) * 2.0 / form(moved(norm), 1.0).lattice_scale
    shares = (term, math.nextafter(term, 0.0), math.nextafter(term, 1.0), 0.999 * term)
    known([outcome(form, moved(norm), share) for share in shares], rel=1e-15)


@every_form
def test_the_smallest_share_of_a_count(known, norm):
    form = FORMS[norm]
    scale = form(moved(norm), 1.0).lattice_scale
    counts = [moved(norm, integer=True, ideal=x, computed=x) for x in (scale, 1.9 * scale)]
    known([outcome(form, each, share) for each in counts for share in (1.0, 0.6, 0.4, 1.9)])


@every_form
def test_refusals(known, norm):
    other = {"l1": "l2", "l2": "l1"}[norm]
    wrong = [
        *(moved(name) for name in (other, "linf")),
        *(moved(norm, ideal=x) for x in (math.nextafter(1e-250, 0.0), 0.0, -1.0, math.nan, 2.6)),
        *(moved(norm, computed=x) for x in (1.9, math.nextafter(1e250, 1e251), math.nan)),
        *(moved(norm, total=math.inf), moved(norm, partial=math.inf)),
    ]
    known(
        [
            *(outcome(FORMS[norm], each, 1.0) for each in wrong),
            *(outcome(FORMS[norm], moved(norm), bad) for bad in BAD),
        ],
        rel=1e-15,
    )


def test_constants(known):
    known(
        [
            *(lattice.LARGEST_PARTIAL, lattice.LARGEST_TOTAL),
            *(SMALLEST_SHARE, LARGEST_SHARE, LARGEST_RECORDS_SHARE),
        ]
    )
