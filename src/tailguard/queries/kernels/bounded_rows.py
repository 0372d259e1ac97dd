"""Inner loops that add ``bound(factor * u)`` of a tile, entry by entry, to running sums.

Written as vector instructions for the reasons that ``vectors.py`` gives. Every bound maps any
finite number to one of magnitude ``limit`` at most, by comparisons alone, so that no rounding can
push a contribution above it. The fast-math flags stay off.

Each loop reads its public numbers from one vector: ``limit``, then for the soft bounds the scale,
its inverse, and :func:`tailguard.queries.kernels.soft_truncation.fast_form`.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3 (clamp) and Algorithm 4 (soft); Tao, Wu, Cheng and Wang
2022, Algorithm 3 (truncation to zero).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tailguard.data.rows.base import TILE_ROWS
from tailguard.queries.kernels.lanes import (
    DOUBLE,
    INDEX,
    LANES,
    VECTOR,
    ZEROS,
    Lanes,
    over_columns,
    tile_addresses,
    vector_addresses,
)
from tailguard.queries.kernels.soft_truncation import (
    FAST_DEGREES,
    FIRST_GUESS,
    LARGEST_ARGUMENT,
    STEPS,
)

# Places in the vector of public numbers.
LIMIT, SCALE, INVERSE_SCALE, REACH, CUBIC, TOP, BEND, FACTOR, SHIFT, POLYNOMIAL = range(10)
SHORT_NUMBERS, LONG_NUMBERS = (POLYNOMIAL + degree + 1 for degree in FAST_DEGREES)

# Numbers in, the same numbers bounded out; the callable gives public numbers by their places.
Bound = Callable[[Lanes, Any, Callable[[int], Any]], Any]


def _inside(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Whether ``value`` is at most ``limit`` in magnitude."""
    builder = lanes.builder
    least = builder.fsub(lanes.constant(-0.0), limit)
    above = builder.fcmp_ordered(">=", value, least)
    return builder.and_(above, builder.fcmp_ordered("<=", value, limit))


def _clamped(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    return lanes.cut(value, number(LIMIT))


def _truncated(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    inside = _inside(lanes, value, number(LIMIT))
    return lanes.builder.select(inside, value, ZEROS)


def _cubic_branch(lanes: Lanes, a: Any, number: Callable[[int], Any]) -> Any:
    """Return ``a - a**3 * coefficient``."""
    builder = lanes.builder
    bend = builder.fmul(builder.fmul(a, a), number(CUBIC))
    return builder.fmul(a, builder.fsub(lanes.constant(1.0), bend))


def _cubic(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    """Soft truncation of values that are known to lie within reach of the cubic branch."""
    a = lanes.cut(lanes.builder.fmul(value, number(INVERSE_SCALE)), number(REACH))
    found = lanes.cut(_cubic_branch(lanes, a, number), number(TOP))
    return lanes.builder.fmul(found, number(SCALE))


def _soft(degree: int) -> Bound:
    """Return the soft truncation of any value, by a polynomial of that degree."""

    def bound(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
        builder = lanes.builder
        a = builder.fmul(value, number(INVERSE_SCALE))
        a = lanes.cut(a, lanes.constant(LARGEST_ARGUMENT))
        size = lanes.size(a)
        v = builder.fmul(size, _nearly_inverse_root(lanes, lanes.multiply_add(a, a, number(BEND))))
        place = lanes.multiply_add(v, number(FACTOR), number(SHIFT))
        curved = lanes.sized(_polynomial(lanes, degree, place, number), a)
        near = builder.fcmp_ordered("<", size, number(REACH))
        found = builder.select(near, _cubic_branch(lanes, a, number), curved)
        return builder.fmul(lanes.cut(found, number(TOP)), number(SCALE))

    return bound


def _nearly_inverse_root(lanes: Lanes, value: Any) -> Any:
    builder, integers = lanes.builder, ir.VectorType(INDEX, LANES)
    half_bits = builder.lshr(builder.bitcast(value, integers), ir.Constant(integers, [1] * LANES))
    guess = builder.sub(ir.Constant(integers, [FIRST_GUESS] * LANES), half_bits)
    root, half = builder.bitcast(guess, VECTOR), builder.fmul(value, lanes.constant(-0.5))
    for _ in range(STEPS):
        square = builder.fmul(root, root)
        root = builder.fmul(root, lanes.multiply_add(half, square, lanes.constant(1.5)))
    return root


def _polynomial(lanes: Lanes, degree: int, place: Any, number: Callable[[int], Any]) -> Any:
    """Four chains of every fourth power each: one chain alone would wait for itself."""
    square = lanes.builder.fmul(place, place)
    fourth = lanes.builder.fmul(square, square)
    highest = POLYNOMIAL + degree
    chains = []
    for power in range(4):
        places = range(POLYNOMIAL + (degree - power) % 4, highest - power + 1, 4)
        total = number(places[0])
        for k in places[1:]:
            total = lanes.multiply_add(total, fourth, number(k))
        chains.append(total)
    low = lanes.multiply_add(chains[1], place, chains[0])
    return lanes.multiply_add(lanes.multiply_add(chains[3], place, chains[2]), square, low)


def _adder(bound: Bound, n_numbers: int) -> Any:
    """Write the loop for one bound, which reads so many public numbers.

    ``rounding`` holds what a bounded entry is multiplied by before it is rounded to a whole number,
    and zero where it is not.
    """

    @intrinsic
    def add(
        typing_context: Any, tile: Any, factors: Any, numbers: Any, rounding: Any, sums: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes, kinds = Lanes(builder), signature.args
            rows, width = tile_addresses(context, builder, kinds[0], arguments[0], TILE_ROWS)
            factors, numbers, rounding, sums = vector_addresses(
                context, builder, kinds[1:], arguments[1:]
            )
            weights = [builder.load(builder.gep(factors, [INDEX(k)])) for k in range(TILE_ROWS)]
            loaded = [builder.load(builder.gep(numbers, [INDEX(k)])) for k in range(n_numbers)]
            steps = lanes.spread(builder.load(rounding))

            def step(column: Any, *, alone: bool) -> None:
                total = lanes.load(sums, column)
                for base, weight in zip(rows, weights, strict=True):
                    u = lanes.load(base, builder.mul(column, INDEX(TILE_ROWS)))
                    value = builder.fmul(lanes.spread(weight), u)
                    bounded = bound(lanes, value, lambda place: lanes.spread(loaded[place]))
                    if alone:
                        bounded = lanes.rounded(builder.fmul(bounded, steps))
                    total = builder.fadd(total, bounded)
                lanes.store(total, sums, column)

            is_alone = builder.fcmp_ordered(">", builder.load(rounding), DOUBLE(0.0))
            with builder.if_else(is_alone) as (rounded, plain):
                with rounded:
                    over_columns(builder, INDEX(0), width, partial(step, alone=True))
                with plain:
                    over_columns(builder, INDEX(0), width, partial(step, alone=False))
            return context.get_dummy_value()

        return types.void(tile, factors, numbers, rounding, sums), generate

    return add


add_clamped_rows = _adder(_clamped, SCALE)
"""Add values cut at the limit."""

add_truncated_rows = _adder(_truncated, SCALE)
"""Add values up to the limit in magnitude, and zero for those beyond."""

add_cubic_rows = _adder(_cubic, BEND)
"""Add soft truncations of values that all lie within reach of the cubic branch."""

add_soft_rows = _adder(_soft(FAST_DEGREES[0]), SHORT_NUMBERS)
"""Add soft truncations of a small smoothing, by the shorter polynomial."""

add_long_soft_rows = _adder(_soft(FAST_DEGREES[1]), LONG_NUMBERS)
"""Add soft truncations of a large smoothing, by the longer polynomial."""
