"""What every query promises: replacing one record moves it by no more than it states.

The move is measured on the released integers, so that float errors have nowhere to hide.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.adversary import datasets, neighbours, records, replaced
from support.attack import (
    MU,
    N_ROWS,
    allowed,
    attack,
    calibrated,
    has_pure_form,
    homes_of,
    lattice,
    move,
    norm_of,
)
from support.examples import MORE, query_examples, reads_by_cell
from support.query_example import N_FEATURES
from support.registered import class_of
from tailguard.checks import InputError
from tailguard.data.rows.base import CHUNK_ROWS
from tailguard.queries.registry import QUERIES

EXAMPLES = {example.name: example for example in query_examples()}
WIDEST = max(example.width for example in EXAMPLES.values())

PURE = [name for name, example in EXAMPLES.items() if has_pure_form(example.query)]

# What counts the cells of void records, as nothing else does.
OF_CELLS = [name for name in EXAMPLES if name.startswith("cell-kinds/")]

every_example = pytest.mark.parametrize("name", EXAMPLES)
every_example_of_records = pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if not reads_by_cell(name)]
)
every_pure_example = pytest.mark.parametrize("name", PURE)


def kind(name):
    return name.split("/")[0]


def test_every_registered_query_has_examples_of_its_name():
    assert {kind(name) for name in EXAMPLES} == set(QUERIES)
    for name, example in EXAMPLES.items():
        assert isinstance(example.query, class_of(QUERIES[kind(name)]))


def test_further_examples_are_called_as_their_query():
    assert MORE.keys() - QUERIES.keys() == set()


@every_example
def test_a_query_is_a_key(name):
    """By identity: it may hold arrays, which have no hash and are compared by their entries."""
    query = EXAMPLES[name].query
    assert {query: 1}[query] == 1


def check_charged(example, n_pairs, seed, **how):
    """No replaced record moves it by more than is charged."""
    worst = attack(example, n_pairs, seed, **how)
    form = "pure_sensitivity" if how.get("pure") else "sensitivity"
    assert worst <= 1.0 + 1e-12, (
        f"one record moves {example.name} by {worst:.4g} of what {form} states: state more, or "
        "bound what a record adds, whatever it holds and wherever it lies"
    )


@every_example
def test_one_replaced_record_moves_the_lattice_by_at_most_the_charge(name):
    check_charged(EXAMPLES[name], 100, seed=1)


@every_example
def test_the_charge_holds_across_chunks_and_in_the_last_one(name):
    check_charged(EXAMPLES[name], 50, seed=5, n_rows=2 * CHUNK_ROWS + 3)


@pytest.mark.audit
@every_example
def test_ten_thousand_replaced_records_never_exceed_the_charge(name):
    check_charged(EXAMPLES[name], 10_000, seed=2)


def check_attained(example, *, pure=False):
    """Its worst pair moves it by nine tenths of what is stated, wherever records lie."""
    data, calibration = example.background(N_ROWS), calibrated(example, N_ROWS, pure=pure)
    for home in homes_of(example):
        pair = [
            lattice(example, replaced(data, 4, record), pure=pure, home=home)
            for record in (example.old, example.new)
        ]
        moved = move(*pair, norm_of(example, pure=pure)) * calibration.grid
        assert moved >= 0.9 * calibration.sensitivity.ideal, (
            f"the pair of {example.name} moves it by {moved:.4g}, and stated is "
            f"{calibration.sensitivity.ideal:.4g}: state less, or show a worse pair in worst_pair"
        )


@every_example
def test_some_pair_attains_nine_tenths_of_the_ideal_sensitivity(name):
    check_attained(EXAMPLES[name])


@every_example
@pytest.mark.parametrize("count", [10, pytest.param(1_000, marks=pytest.mark.audit)])
def test_any_floats_at_all_keep_the_charge(name, count):
    example = EXAMPLES[name]
    data = np.ones((N_ROWS, example.width))
    record = st.lists(st.floats(), min_size=example.width, max_size=example.width)

    @settings(max_examples=count)
    @given(old=record, new=record)
    def check(old, new):
        for home in homes_of(example):
            pair = [lattice(example, replaced(data, 7, each), home=home) for each in (old, new)]
            assert move(*pair, norm_of(example)) <= allowed(example) * (1.0 + 1e-12)

    check()


@every_example_of_records
def test_a_record_with_one_bad_entry_contributes_zero_and_stays_counted(name):
    example = EXAMPLES[name]
    data = np.random.default_rng(3).standard_normal((N_ROWS, example.width))
    for home in homes_of(example):
        all_bad = lattice(example, replaced(data, 6, [np.nan] * example.width), home=home)
        for column in range(example.width):
            for bad in (np.nan, np.inf, -np.inf):
                record = data[6].copy()
                record[column] = bad
                found = lattice(example, replaced(data, 6, record), home=home)
                np.testing.assert_array_equal(found, all_bad)
    nothing = lattice(example, np.full((N_ROWS, example.width), np.nan))
    np.testing.assert_array_equal(nothing, np.zeros_like(nothing))


@pytest.mark.parametrize("name", OF_CELLS)
def test_counts_of_cells_count_each_cell_of_a_void_record_by_its_own_kind(name):
    example, width = EXAMPLES[name], EXAMPLES[name].width
    data = np.ones((N_ROWS, width))
    step = round(1.0 / calibrated(example, N_ROWS).grid)
    for column in range(width):
        for kind, bad in ((1, np.nan), (2, np.inf), (2, -np.inf)):
            record = np.ones(width)
            record[column] = bad
            counts = lattice(example, replaced(data, 6, record)).reshape(width, 3) // step
            expected = np.tile([N_ROWS, 0, 0], (width, 1))
            expected[column] -= [1, 0, 0]
            expected[column, kind] += 1
            np.testing.assert_array_equal(counts, expected)


@every_example
def test_the_number_of_threads_does_not_change_a_bit(name, monkeypatch):
    """Nor does how they cut the records, of which some leave odd numbers behind in a chunk."""
    monkeypatch.setattr("tailguard.data.rows.arrays.NUMBERS_WORTH_A_THREAD", 1_000)
    example, rng = EXAMPLES[name], np.random.default_rng(4)
    data = rng.standard_normal((5_000, example.width))
    data[:3_000:2] = records(rng, 1_500, example.width)
    answers = []
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("TAILGUARD_NUM_THREADS", n_threads)
        answers.append(lattice(example, data))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


ORDERED = [name for name in EXAMPLES if EXAMPLES[name].query.places == "random"]


def moved_by_order(name):
    """Whether an answer depends on the order of records, beyond rounding."""
    data = np.abs(np.random.default_rng(5).standard_normal((N_ROWS, WIDEST)))  # as exposures are
    order, example = np.random.default_rng(6).permutation(N_ROWS), EXAMPLES[name]
    records = data[:, : example.width]
    pair = lattice(example, records), lattice(example, records, order=order)
    return move(*pair, norm_of(example)) > 1e-3 * allowed(example)


@pytest.mark.parametrize("of_kind", QUERIES)
def test_a_query_that_pairs_or_groups_asks_for_a_random_order_and_no_other_does(of_kind):
    """Counts and lattice sums of all others are the same in any order, but for rounding."""
    names = [name for name in EXAMPLES if kind(name) == of_kind]
    moved = {name for name in names if moved_by_order(name)}
    fixed = moved - set(ORDERED)
    assert not fixed, f"{fixed} depend on the order of records: state places = 'random'"
    needless = not moved and any(name in ORDERED for name in names)
    assert not needless, f"{of_kind} is the same in any order: state places = 'none'"


def most_changed(name):
    """How many integers of an answer one record may change: counts that it moves, or all sums."""
    query = EXAMPLES[name].query
    if query.sensitivity(N_ROWS, N_FEATURES).integer:
        return calibrated(EXAMPLES[name], N_ROWS, pure=True).sensitivity.ideal
    return query.units.size


@pytest.mark.parametrize("name", ORDERED)
def test_in_any_one_order_a_replaced_record_moves_what_it_pairs_or_groups_with_alone(name):
    example, rng, most = EXAMPLES[name], np.random.default_rng(7), most_changed(name)
    for data in datasets(rng, 8, N_ROWS, example.width):
        order = rng.permutation(N_ROWS)
        before = lattice(example, data, order=order)
        for slot, record in neighbours(rng, data, 10):
            after = lattice(example, replaced(data, slot, record), order=order)
            assert move(before, after, norm_of(example)) <= allowed(example) * (1.0 + 1e-12)
            assert np.count_nonzero(before != after) <= most


@every_example
def test_calibration_needs_no_rows_and_spends_at_most_what_was_asked(name):
    query = EXAMPLES[name].query
    for mu in (1e-3, 0.1, 3.0):
        calibration = query.calibrate(100_000, N_FEATURES, mu)
        assert calibration.share <= mu
        assert calibration.share >= mu * (1 - 1e-3)
        assert calibration.charged >= calibration.sensitivity.ideal


@every_example
def test_what_a_release_says_of_its_query_is_plain_and_the_same_before_any_record(name):
    query = EXAMPLES[name].query
    said = query.parameters()
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    lattice(EXAMPLES[name], EXAMPLES[name].background(N_ROWS))
    assert query.parameters() == said


@every_pure_example
def test_with_laplace_noise_the_move_is_charged_in_its_own_norm(name):
    for home in homes_of(EXAMPLES[name]):
        check_charged(EXAMPLES[name], 100, seed=5, pure=True, home=home)


@pytest.mark.audit
@every_pure_example
def test_ten_thousand_replaced_records_never_exceed_the_charge_of_laplace_noise(name):
    check_charged(EXAMPLES[name], 10_000, seed=6, pure=True)


@every_pure_example
def test_some_pair_attains_nine_tenths_of_the_ideal_sensitivity_with_laplace_noise(name):
    check_attained(EXAMPLES[name], pure=True)
    assert MU * (1 - 1e-3) <= calibrated(EXAMPLES[name], N_ROWS, pure=True).share <= MU


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - set(PURE)))
def test_a_query_without_a_pure_form_says_so(name):
    with pytest.raises(InputError, match="epsilon needs a query with a pure form"):
        calibrated(EXAMPLES[name], N_ROWS, pure=True)
