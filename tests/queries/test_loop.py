"""Kernels treat subnormal numbers as zeros, and only while they run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from llvmlite import ir

from support.attack import lattice
from support.count_below import CountBelow
from support.examples import query_examples
from support.loops import loop
from tailguard.data.rows.base import RecordBlock
from tailguard.losses import RecordGradient
from tailguard.machine_code import BUILDERS
from tailguard.queries import loop as loop_module
from tailguard.queries.loop import LatticeSum, steady_arithmetic
from tailguard.queries.reading_loops import add_by_person
from tailguard.queries.record_gradient import MeanRecordGradient

SUBNORMAL = np.array([1e-310, -5e-324])


def seen():
    """Magnitudes that are kept of numbers that are not zero."""
    return (SUBNORMAL * np.array([2.0, -3.0]) != 0.0).tolist()


def nested(depth):
    """What is seen inside, and inside of that; beyond the last depth something goes wrong."""
    with steady_arithmetic():
        if depth < 0:
            raise ValueError("none")
        return [seen(), *([nested(0)] if depth else []), seen()]


class Query:
    """A query whose loop says what becomes of subnormal numbers."""

    together, reads_cells = "none", False

    def sum_block(self, block, state, grid):
        return np.array([*seen(), *(np.ones(1) / np.zeros(1))])


def test_the_loop_of_every_query_is_steady():
    assert LatticeSum(Query(), None, 1.0, 3).sum_block(None).tolist() == [0.0, 0.0, np.inf]


def test_subnormal_numbers_are_zeros_inside_and_numbers_again_after():
    zeros, numbers = [False, False], [True, True]
    assert seen() == numbers
    assert nested(1) == [zeros, [zeros, zeros], zeros]
    assert seen() == numbers
    with pytest.raises(ValueError, match="none"):
        nested(-1)
    assert seen() == numbers


def test_other_threads_are_left_alone():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(seen).result()  # a thread that starts inside would take over the setting
        with steady_arithmetic():
            assert [seen(), pool.submit(seen).result()] == [[False, False], [True, True]]


def test_a_subnormal_number_counts_as_zero():
    features = np.array([[1e-310], [-1e-310], [1e-300]])
    kernel = loop(CountBelow((0,)), [0.0])
    np.testing.assert_array_equal(kernel.sum_block(RecordBlock(features)), [2])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.0])
def test_a_function_is_asked_as_often_whatever_the_records_hold(value):
    asked = []

    def gradient(weights, row, target):
        asked.append((row[0], target))
        return row

    query = MeanRecordGradient(RecordGradient(gradient), clip_norm=9.0)
    kernel = loop(query, np.zeros(1), 2.0**-20, n_features=1)
    features, target = np.array([[2.0], [value], [3.0]]), np.array([4.0, 4.0, value])
    total = kernel.sum_block(RecordBlock(features, target))
    used = [(2.0, 4.0), (value, 4.0), (3.0, value)]
    assert asked == [pair if np.isfinite(pair).all() else (0.0, 0.0) for pair in used]
    assert total == [sum(row for row, target in asked) * 2**20]


@pytest.mark.parametrize(
    ("machine", "instructions"),
    [
        ("x86_64", ["llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr"]),
        ("aarch64", ["llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr"]),
        ("riscv64", []),
    ],
)
def test_every_kind_of_processor_is_told_in_its_own_instructions(
    machine, instructions, monkeypatch
):
    monkeypatch.setattr(loop_module, "MACHINE", machine)
    module, long = ir.Module(), ir.IntType(64)
    builder = ir.IRBuilder(ir.Function(module, ir.FunctionType(long, []), "f").append_basic_block())
    builder.ret(loop_module._emit_exchange(builder, lambda before: builder.or_(before, long(1))))
    called = [line for line in str(module).splitlines() if " call " in line]
    assert [name for name in instructions if any(name in line for line in called)] == instructions
    assert len(called) == len(instructions)


def answers():
    """What all examples of queries sum of some records, in and without an order."""
    found = {}
    for example in query_examples():
        data = np.abs(np.random.default_rng(0).standard_t(3, (40, example.width)))
        for home in (None, lambda rows: rows.without_order()):
            if home is None or not example.query.by_place:
                found[example.name, home is None] = lattice(example, data, home=home)
    return found


def test_the_loops_are_those_of_the_functions_that_they_are_compiled_from(monkeypatch):
    machine, builders = answers(), [b for b in BUILDERS if b.__module__ == loop_module.__name__]
    with monkeypatch.context() as patched:
        patched.setattr(loop_module, "compiled", lambda function, *_, **options: function)
        patched.setattr(loop_module, "_exchange_bits", lambda: lambda cleared, written: 0)
        for build in builders:
            build.cache_clear()
        plain = answers()
    for build in builders:
        build.cache_clear()
    for name, found in machine.items():
        assert np.abs(found - plain[name]).max() <= 1, name  # where a product is rounded with a sum


def test_rows_of_persons_are_added_as_the_source_of_the_loop_says(monkeypatch):
    rng = np.random.default_rng(0)
    mapped, factors = rng.standard_t(2, (3, 7)), rng.uniform(size=7)
    persons, sums = np.array([0, 0, 1, 2, 2, 2, 3]), np.zeros((3, 3, 4))
    add_by_person()(mapped, factors, persons, sums[0])
    with monkeypatch.context() as patched:
        patched.setattr(loop_module, "compiled", lambda function, *_, **options: function)
        add_by_person.cache_clear()
        add_by_person()(mapped, factors, persons, sums[1])
    add_by_person.cache_clear()
    np.add.at(sums[2].T, persons, (mapped * factors).T)
    np.testing.assert_allclose(sums[:2], np.stack([sums[2]] * 2), rtol=1e-14)
