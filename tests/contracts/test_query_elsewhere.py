"""What a query states holds for other numbers than those of its examples, with no help from it.

Each number that a query holds is replaced by others, and so are the units in which it reads rows;
those that it refuses are left out. A sensitivity that is right at one radius alone is found out.
"""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from support.attack import N_ROWS, attack, calibrated, has_pure_form, lattice
from support.examples import query_examples
from support.query_example import N_FEATURES, RAW, ZERO, Example, skewed_units
from tailguard.checks import InputError
from tailguard.means.clipped import ClippedShells
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import sum_sensitivity
from tailguard.queries.registry import QUERIES
from tailguard.queries.units import Units

EXAMPLES = {name: [] for name in QUERIES}
for each in query_examples():
    EXAMPLES[each.name.split("/")[0]].append(each)


def others_of(value):
    """Other values in the place of one that a query holds."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float) and np.isfinite(value):
        return [0.1 * value, 3.0 * value]
    if isinstance(value, tuple) and value and all(isinstance(part, float) for part in value):
        return [tuple(factor * part for part in value) for factor in (0.1, 3.0)]
    if isinstance(value, Units) and value.center.size == N_FEATURES:
        wide = Units(np.zeros(N_FEATURES), np.full(N_FEATURES, 5.0), intercept=False)
        return [
            wide,
            skewed_units(False),
            skewed_units(True),
            Units.raw(N_FEATURES, intercept=True),
        ]
    return []


def sized(state, query):
    """The state of an example, with a number for the intercept if a query now has one."""
    units = getattr(query, "units", None)
    grown = isinstance(state, np.ndarray) and units is not None and state.shape == (N_FEATURES,)
    return np.append(state, 0.5) if grown and units.intercept else state


def elsewhere(example):
    """The example with one field of its query replaced, for every field and each other value."""
    if not is_dataclass(example.query):
        return
    for field in fields(example.query):
        for place, value in enumerate(others_of(getattr(example.query, field.name))):
            try:
                query = replace(example.query, **{field.name: value})
                name = f"{example.name}, {field.name} {place}"
                moved = replace(example, name=name, query=query, state=sized(example.state, query))
                calibrated(moved, N_ROWS)
                lattice(moved, moved.background(N_ROWS))
            except (InputError, ValueError):  # it refuses this value, or the state does not suit
                continue
            yield moved


def check(example, pure):
    worst = attack(example, 50, seed=8, pure=pure)
    form = "pure_sensitivity" if pure else "sensitivity"
    assert worst <= 1.0 + 1e-12, (
        f"one record moves {example.name} by {worst:.4g} of what {form} states there, though not "
        "with the numbers of its example: state it by the numbers that the query holds"
    )


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_the_charge_holds_for_other_numbers_than_those_of_the_examples(name):
    for example in EXAMPLES[name]:
        for other in elsewhere(example):
            check(other, pure=False)
            if has_pure_form(other.query):
                check(other, pure=True)


class Squared(ClippedShells):
    """States its sensitivity by the square of the radius, which is right at the radius of 4."""

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        return sum_sensitivity(self.radii[-1] ** 1.5 / 4.0, self.units.size, n_rows)


class Columns(ClippedShells):
    """States its sensitivity by the number of coordinates, which is right where there are three."""

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        limit = self.radii[-1] ** 0.5 * N_FEATURES / self.units.size
        return sum_sensitivity(limit, self.units.size, n_rows)


@pytest.mark.parametrize("wrong", [Squared, Columns])
def test_a_sensitivity_that_is_right_for_one_example_alone_is_found_out(wrong):
    far, opposite = (1e200, 0.0, 0.0, 0.0), (-1e200, 0.0, 0.0, 0.0)
    example = Example("wrong/one", wrong(RAW, (4.0,)), ZERO, far, opposite)
    check(example, pure=False)
    seen = [attack(other, 50, seed=8) > 1.0 + 1e-12 for other in elsewhere(example)]
    assert any(seen)
