"""The inner loops over the rows of a tile, written as vector instructions.

Numba's own vectoriser leaves half of the memory bandwidth unused here: it may not reorder a sum,
so that it takes scores one number at a time, and it cannot pace prefetches with the loads. Writing
eight columns a step by hand also fixes the order of every addition, so that float32 and float64
storage of equal numbers give equal bits.

``u`` is a standardised feature, ``(x - center) * inverse_scale``, always in float64. Scoring leaves
the ``u`` of eight records in a tile, and adding starts from there: to read the records twice, and
to standardise them twice, costs more than to write the tile once. ``tile[j, k]`` holds the columns
``8 * j`` to ``8 * j + 7`` of record ``k``, so that adding reads straight through::

                 record 0     record 1           record 7
    tile[0]    u0 ...  u7   u0 ...  u7   ...   u0 ...  u7
    tile[1]    u8 ... u15   u8 ... u15   ...   u8 ... u15
    ...

Vectors that go with the columns are as wide as the tile, a multiple of eight. What the features
lack in width counts as 1 before it is standardised: with center 0, an inverse scale of 1 makes an
intercept of it, and one of 0 makes nothing.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tailguard.data.rows.base import TILE_ROWS
from tailguard.queries.kernels.lanes import (
    INDEX,
    LANES,
    VECTOR,
    ZEROS,
    Lanes,
    cgutils,
    join_lanes,
    join_parts,
    over_columns,
    prefetch,
    row_addresses,
    tile_addresses,
    vector_addresses,
)

# Standardised features beyond this count as this: the squares of a hundred million of them add up
# to a finite number.
LARGEST_FEATURE = 1e150


@intrinsic
def lent(typing_context: Any, value: Any) -> Any:
    """Return the same array, or named tuple of arrays, without an owner to be counted.

    Numba counts the owners of an array atomically whenever it is sliced or handed on, some 25 times
    a tile, which takes longer than to add the tile up. Only lend arguments: the caller owns them
    until the call ends, while a local array is freed after its last mention.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind: Any = signature.args[0]
        if isinstance(kind, types.Array):
            return _without_owner(context, builder, kind, arguments[0])
        values = cgutils.unpack_tuple(builder, arguments[0])
        pairs = zip(kind, values, strict=True)
        lent_values = [_without_owner(context, builder, kind, value) for kind, value in pairs]
        return context.make_tuple(builder, kind, lent_values)

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    array = context.make_array(kind)(context, builder, value)
    for owner in ("meminfo", "parent"):
        setattr(array, owner, ir.Constant(getattr(array, owner).type, None))
    return array._getvalue()


def _emit_scores(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """Score the rows of a tile, four at a time: so many sums fill the registers of a processor."""
    lanes = Lanes(builder)
    rows, n_columns = row_addresses(
        context, builder, kinds[0], arguments[0], arguments[1], TILE_ROWS
    )
    copies, width = tile_addresses(context, builder, kinds[5], arguments[5], TILE_ROWS)
    vectors = vector_addresses(context, builder, kinds[2:5], arguments[2:5])
    element = context.get_data_type(kinds[0].dtype)
    totals = [cgutils.alloca_once(builder, VECTOR) for _ in range(LANES)]
    whole = builder.and_(n_columns, INDEX(-LANES))

    def score_four(rows: list[Any], copies: list[Any]) -> Any:
        """Return the scores of four rows, then their squares."""
        for total in totals:
            builder.store(ZEROS, total)

        def step(column: Any, end: Any = None) -> None:
            middle, unit, weight = (lanes.load(vector, column) for vector in vectors)
            for k, (base, copy) in enumerate(zip(rows, copies, strict=True)):
                prefetch(builder, base, column)
                x = lanes.load(base, column, element, end)
                u = builder.fmul(builder.fsub(x, middle), unit)
                u = lanes.held(u, lanes.constant(LARGEST_FEATURE))
                lanes.store(u, copy, builder.mul(column, INDEX(TILE_ROWS)))
                # Zero times the feature makes a NaN of the square if it is not finite.
                for total, factors in ((k, (u, weight)), (k + 4, (u, u)), (k + 4, (x, ZEROS))):
                    sums = lanes.multiply_add(*factors, builder.load(totals[total]))
                    builder.store(sums, totals[total])

        over_columns(builder, INDEX(0), whole, step)
        over_columns(builder, whole, width, lambda column: step(column, n_columns))
        return join_lanes(builder, builder.fadd, [builder.load(total) for total in totals])

    low, high = (score_four(rows[k : k + 4], copies[k : k + 4]) for k in (0, 4))
    out = vector_addresses(context, builder, kinds[6:8], arguments[6:8])
    for base, part in zip(out, (range(4), range(4, 8)), strict=True):
        lanes.store(join_parts(builder, low, high, part), base, INDEX(0))
    return context.get_dummy_value()


@intrinsic
def score_rows(
    typing_context: Any,
    features: Any,
    row: Any,
    center: Any,
    inverse_scale: Any,
    weights: Any,
    tile: Any,
    scores: Any,
    squares: Any,
) -> Any:
    """Leave ``u`` of the rows from ``row`` on in the tile, and what they add up to beside it.

    ``scores`` gets ``<u, weights>`` and ``squares`` gets ``<u, u>``, NaN if a feature is not
    finite. In the tile ``u`` is finite whatever the features hold.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit_scores(context, builder, signature.args, arguments)

    vectors = center, inverse_scale, weights
    return types.void(features, types.int64, *vectors, tile, scores, squares), generate


def _adder(*, alone: bool) -> Any:
    """Write the loop that adds rows times factors; with ``alone`` each product is rounded first."""

    @intrinsic
    def add(typing_context: Any, tile: Any, factors: Any, sums: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes, kinds = Lanes(builder), signature.args
            rows, width = tile_addresses(context, builder, kinds[0], arguments[0], TILE_ROWS)
            factors, sums = vector_addresses(context, builder, kinds[1:], arguments[1:])
            loaded = [builder.load(builder.gep(factors, [INDEX(k)])) for k in range(TILE_ROWS)]
            weights = [lanes.spread(weight) for weight in loaded]

            def step(column: Any) -> None:
                # Two chains: one alone would wait for itself.
                chains = [lanes.load(sums, column), ZEROS]
                for k, (base, weight) in enumerate(zip(rows, weights, strict=True)):
                    u = lanes.load(base, builder.mul(column, INDEX(TILE_ROWS)))
                    if alone:
                        product = lanes.rounded(builder.fmul(weight, u))
                        chains[k % 2] = builder.fadd(product, chains[k % 2])
                    else:
                        chains[k % 2] = lanes.multiply_add(weight, u, chains[k % 2])
                lanes.store(builder.fadd(*chains), sums, column)

            over_columns(builder, INDEX(0), width, step)
            return context.get_dummy_value()

        return types.void(tile, factors, sums), generate

    return add


add_rows = _adder(alone=False)
"""Add ``factors[k] * u`` of every record ``k`` of a tile to ``sums``."""

add_rounded_rows = _adder(alone=True)
"""Add ``factors[k] * u``, each rounded to a whole number, of every record ``k`` of a tile."""
