"""Inner loops that add ``bound(factor * u)`` of four records, entry by entry, to running sums.

Written as vector instructions for the reasons that ``vectors.py`` gives. Every bound maps any
finite number to one of magnitude ``limit`` at most, by comparisons alone, so that no rounding can
push a contribution above it. The fast-math flags stay off.

Each loop reads its public numbers from one vector: ``limit``, then for the soft bounds the scale,
its inverse, and :func:`tailguard.kernels.soft_truncation.fast_form`.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3 (clamp) and Algorithm 4 (soft); Tao, Wu, Cheng and Wang
2022, Algorithm 3 (truncation to zero).
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from .soft_truncation import FAST_DEGREE, LARGEST_ARGUMENT
from .vectors import DOUBLE, INDEX, Lanes, over_columns, prefetch, row_addresses, vector_addresses

__all__ = ["add_clamped_rows", "add_cubic_rows", "add_soft_rows", "add_truncated_rows"]

# Places in the vector of public numbers.
LIMIT, SCALE, INVERSE_SCALE, REACH, CUBIC, TOP, FACTOR, SHIFT, POLYNOMIAL = range(9)
N_NUMBERS = POLYNOMIAL + FAST_DEGREE + 1

# Numbers in, the same numbers bounded out; the callable gives public numbers by their places.
Bound = Callable[[Lanes, Any, Callable[[int], Any]], Any]


def _within(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Cut at ``limit`` in magnitude, exactly."""
    builder = lanes.builder
    least = builder.fsub(lanes.constant(-0.0), limit)
    low = builder.select(builder.fcmp_ordered("<", value, least), least, value)
    return builder.select(builder.fcmp_ordered(">", low, limit), limit, low)


def _inside(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Whether ``value`` is at most ``limit`` in magnitude."""
    builder = lanes.builder
    least = builder.fsub(lanes.constant(-0.0), limit)
    above = builder.fcmp_ordered(">=", value, least)
    return builder.and_(above, builder.fcmp_ordered("<=", value, limit))


def _clamped(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    return _within(lanes, value, number(LIMIT))


def _truncated(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    inside = _inside(lanes, value, number(LIMIT))
    return lanes.builder.select(inside, value, lanes.constant(0.0))


def _cubic_branch(lanes: Lanes, a: Any, number: Callable[[int], Any]) -> Any:
    """Return ``a - a**3 * coefficient``."""
    builder = lanes.builder
    bend = builder.fmul(builder.fmul(a, a), number(CUBIC))
    return builder.fmul(a, builder.fsub(lanes.constant(1.0), bend))


def _cubic(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    """Soft truncation of values that are known to lie within reach of the cubic branch."""
    a = _within(lanes, lanes.builder.fmul(value, number(INVERSE_SCALE)), number(REACH))
    found = _within(lanes, _cubic_branch(lanes, a, number), number(TOP))
    return lanes.builder.fmul(found, number(SCALE))


def _soft(lanes: Lanes, value: Any, number: Callable[[int], Any]) -> Any:
    """Soft truncation of any value."""
    builder = lanes.builder
    a = builder.fmul(value, number(INVERSE_SCALE))
    a = _within(lanes, a, lanes.constant(LARGEST_ARGUMENT))
    square = builder.fmul(a, a)
    root = lanes.square_root(builder.fadd(square, lanes.constant(1.0)))
    v = builder.fdiv(a, root)
    place = lanes.multiply_add(builder.fmul(v, v), number(FACTOR), number(SHIFT))
    curved = builder.fmul(v, _polynomial(lanes, place, number))
    near = _inside(lanes, a, number(REACH))
    found = builder.select(near, _cubic_branch(lanes, a, number), curved)
    return builder.fmul(_within(lanes, found, number(TOP)), number(SCALE))


def _polynomial(lanes: Lanes, place: Any, number: Callable[[int], Any]) -> Any:
    """Four chains of every fourth power each: one chain alone would wait for itself."""
    square = lanes.builder.fmul(place, place)
    fourth = lanes.builder.fmul(square, square)
    highest = POLYNOMIAL + FAST_DEGREE
    chains = []
    for power in range(4):
        places = range(POLYNOMIAL + (FAST_DEGREE - power) % 4, highest - power + 1, 4)
        total = number(places[0])
        for k in places[1:]:
            total = lanes.multiply_add(total, fourth, number(k))
        chains.append(total)
    low = lanes.multiply_add(chains[1], place, chains[0])
    return lanes.multiply_add(lanes.multiply_add(chains[3], place, chains[2]), square, low)


def _adder(bound: Bound) -> Any:
    """Write the loop for one bound."""

    @intrinsic
    def add(
        typing_context: Any,
        features: Any,
        row: Any,
        center: Any,
        inverse_scale: Any,
        factors: Any,
        first: Any,
        numbers: Any,
        sums: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, n_columns, element = row_addresses(
                context, builder, signature.args[0], *arguments[:2]
            )
            kinds = [signature.args[k] for k in (2, 3, 4, 6, 7)]
            values = [arguments[k] for k in (2, 3, 4, 6, 7)]
            center, scale, factors, numbers, sums = vector_addresses(
                context, builder, kinds, values
            )
            positions = [builder.add(arguments[5], INDEX(k)) for k in range(4)]
            weights = [builder.load(builder.gep(factors, [position])) for position in positions]
            used = [builder.fcmp_ordered("!=", weight, DOUBLE(0.0)) for weight in weights]
            loaded = [builder.load(builder.gep(numbers, [INDEX(k)])) for k in range(N_NUMBERS)]

            def step(lanes: Lanes, column: Any) -> None:
                middle, unit = lanes.load(center, column), lanes.load(scale, column)
                total = lanes.load(sums, column)
                for k, (base, weight, use) in enumerate(zip(rows, weights, used, strict=True)):
                    if k >= 2:
                        prefetch(lanes, base, column, n_columns)
                    u = builder.fmul(builder.fsub(lanes.load(base, column, element), middle), unit)
                    value = builder.fmul(lanes.spread(weight), u)
                    # A skipped row may hold NaN, which no comparison sees.
                    safe = builder.select(use, value, lanes.constant(0.0))
                    bounded = bound(lanes, safe, lambda place: lanes.spread(loaded[place]))
                    total = builder.fadd(total, bounded)
                lanes.store(total, sums, column)

            over_columns(builder, n_columns, step)
            return context.get_dummy_value()

        index = types.int64
        arguments = (features, index, center, inverse_scale, factors, index, numbers, sums)
        return types.void(*arguments), generate

    return add


add_clamped_rows = _adder(_clamped)
"""Add values cut at the limit."""

add_truncated_rows = _adder(_truncated)
"""Add values up to the limit in magnitude, and zero for those beyond."""

add_cubic_rows = _adder(_cubic)
"""Add soft truncations of values that all lie within reach of the cubic branch."""

add_soft_rows = _adder(_soft)
"""Add soft truncations."""
