"""Single vector instructions, against NumPy on every kind of number."""

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from tailguard.queries.kernels.lanes import INDEX, LANES, Lanes, vector_addresses

NUMBERS = np.array([0.0, -0.0, 5e-324, -1.5, 2.0, 1e308, np.inf, -np.inf, np.nan, 0.75, -0.75, 1])


def on_every_lane(operation):
    """Compile ``operation(lanes, value)`` as a function of eight numbers."""

    @intrinsic
    def apply(typing_context, source, result):
        def generate(context, builder, signature, arguments):
            lanes = Lanes(builder)
            source, result = vector_addresses(context, builder, signature.args, arguments)
            value = operation(lanes, lanes.load(source, INDEX(0)))
            lanes.store(value, result, INDEX(0))
            return context.get_dummy_value()

        return types.void(source, result), generate

    @njit
    def run(source, result):
        apply(source, result)

    def call(values):
        result = np.empty(LANES)
        run(np.ascontiguousarray(values), result)
        return result

    return call


def limit(lanes):
    return lanes.constant(0.75)


OPERATIONS = {
    "square root": (lambda lanes, v: lanes.square_root(v), np.sqrt),
    "cut": (lambda lanes, v: lanes.cut(v, limit(lanes)), lambda v: np.clip(v, -0.75, 0.75)),
    "held": (
        lambda lanes, v: lanes.held(v, limit(lanes)),
        lambda v: np.where(np.isnan(v), 0.75, np.clip(v, -0.75, 0.75)),
    ),
    "number": (lambda lanes, v: lanes.number_or_zero(v), lambda v: np.where(np.isnan(v), 0.0, v)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_instruction_equals_numpy(name):
    operation, expected = OPERATIONS[name]
    call = on_every_lane(operation)
    for shift in range(len(NUMBERS)):
        values = np.roll(NUMBERS, shift)[:LANES]
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(call(values), expected(values))
