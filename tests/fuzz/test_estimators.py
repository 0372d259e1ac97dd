"""Estimators on tables and options of any kind: a fit, or one sentence that no value changes."""

import numpy as np
import pytest
from hypothesis import strategies as st

import tailguard as tg
from support.fuzzing import SCALARS, attempt, how_often, often
from support.registered import ESTIMATORS

KINDS = [*ESTIMATORS.values()]
PROMISES = st.one_of(
    st.sampled_from([tg.GDP(1.0), tg.ApproxDP(1.0, 1e-6), tg.PureDP(1.0), tg.ZCDP(0.1), None]),
    SCALARS,
)
SHAPES = st.sampled_from([(0,), (40,), (40, 0), (0, 2), (1, 1), (40, 2), (39, 2), (40, 2, 1), ()])
TYPES = st.sampled_from(["float64", "float32", "int64", "uint8", "bool", "complex128", "U3"])


def numbers(shape, kind, seed):
    """An array of a type, of values that nothing but the seed tells.

    An array even where it has no axes: a text alone would be the path of a file.
    """
    values = np.random.default_rng(seed).integers(0, 2, shape)
    return np.asarray(values + (kind[0] in "fiu") * seed, dtype=kind)


def told(kind, promise, options, tables, seed):
    """What a fit says, and whether it is done."""
    made = kind(guarantee=promise, random_state=0, **options)
    fitted, refused = attempt(lambda: made.fit(*(numbers(*table, seed) for table in tables)))
    assert fitted is None or np.isfinite(fitted.coef_).all()
    return refused or "fitted"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")  # of a shape
@how_often
def test_any_fit_ends_and_what_it_says_depends_on_no_value(count):
    def check(kind, promise, intercept, shapes, types):
        options = {} if intercept == "default" else {"fit_intercept": intercept}
        tables = tuple(zip(shapes, types, strict=True))
        first, second = (told(kind, promise, options, tables, seed) for seed in (0, 1))
        assert first == second

    often(
        count,
        check,
        kind=st.sampled_from(KINDS),
        promise=PROMISES,
        intercept=st.one_of(st.sampled_from(["default", True, False]), SCALARS),
        shapes=st.tuples(SHAPES, SHAPES),
        types=st.tuples(TYPES, TYPES),
    )
