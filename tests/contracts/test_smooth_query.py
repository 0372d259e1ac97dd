"""What every query on a smooth scale promises: value and scale move by no more than they may.

Both are taken as computed, float errors included, and at the limits that the mechanism enforces.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailguard as tg
from support.adversary import replaced
from support.count_below import CountBelow
from support.smooth import N_FEATURES, answer, breach, smooth_attack, smooth_examples
from support.stages import once, pure, smooth
from tailguard.checks import BudgetError, InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Approximate, Gaussian, Parallel, ZeroConcentrated
from tailguard.queries.registry import SMOOTH_QUERIES

EXAMPLES = {example.name: example for example in smooth_examples()}
every_example = pytest.mark.parametrize("name", EXAMPLES)


def gate_over(example, data, seed=1):
    rows = make_rows(data[:, :N_FEATURES].copy(), data[:, -1].copy(), loss=example.loss)
    return Gate(rows, guarantee=tg.GDP(1.0), source=SimulationSource(seed))


def ask(example, data, seed=1):
    gate = gate_over(example, data, seed)
    gate.reserve(example.calibration().event, unprotected=True)
    return gate, gate.ask(example.query, example.state, smooth(example.event))


def test_the_registry_and_the_examples_name_the_same_queries():
    assert {name.split("/")[0] for name in EXAMPLES} == set(SMOOTH_QUERIES)


@every_example
def test_one_replaced_record_moves_value_and_scale_by_no_more_than_is_stated(name):
    log_ratio, move = smooth_attack(EXAMPLES[name], 200, seed=1)
    assert log_ratio <= 1.0
    assert move <= 1.0


@pytest.mark.audit
@every_example
def test_ten_thousand_replaced_records_never_do(name):
    log_ratio, move = smooth_attack(EXAMPLES[name], 10_000, seed=2)
    assert log_ratio <= 1.0
    assert move <= 1.0


@every_example
@settings(max_examples=10)
@given(
    old=st.lists(st.floats(), min_size=4, max_size=4),
    new=st.lists(st.floats(), min_size=4, max_size=4),
    others=st.sampled_from([0.0, 1.0, -2.0, 1e-300, 1e300]),
)
def test_any_floats_at_all_keep_the_statement(name, old, new, others):
    example = EXAMPLES[name]
    data = np.full((example.n_rows, example.width), others)
    pair = [answer(example, replaced(data, 5, record)) for record in (old, new)]
    assert max(breach(example, *pair)) <= 1.0


@every_example
def test_a_record_with_one_bad_entry_counts_as_one_with_all_bad(name):
    example = EXAMPLES[name]
    data = np.random.default_rng(3).standard_normal((example.n_rows, example.width))
    all_bad = answer(example, replaced(data, 6, [np.nan] * example.width))
    for column in range(example.width):
        for bad in (np.nan, np.inf, -np.inf):
            record = data[6].copy()
            record[column] = bad
            np.testing.assert_array_equal(answer(example, replaced(data, 6, record)), all_bad)


@every_example
def test_calibration_needs_no_records_and_the_books_say_the_same(name):
    example = EXAMPLES[name]
    public = example.calibration()
    facts = (public.charged, public.noise_std)
    release = Release(
        "r", "Q", public.mechanism, public.norm, *facts, parameters=public.parameters()
    )
    assert release.event() == public.event
    assert Release(**json.loads(json.dumps(release.to_dict()))).event() == public.event
    kinds = {ZeroConcentrated: "rho", Approximate: "epsilon"}
    asked, costs = (getattr(e, kinds[type(e)]) for e in (example.event, public.event))
    assert costs <= asked
    if "published" not in name:
        capped = max(public.shift, public.smoothness) > 1.99
        assert capped or costs >= asked * (1 - 1e-4)


@every_example
def test_nothing_but_the_noised_answer_depends_on_the_records(name):
    example = EXAMPLES[name]
    rng = np.random.default_rng(4)
    calm, wild = (
        np.zeros((example.n_rows, example.width)),
        1e6 * rng.standard_cauchy((example.n_rows, example.width)),
    )
    (first, answered), (second, _) = ask(example, calm), ask(example, wild)
    assert first.certificate().to_json() == second.certificate().to_json()
    assert repr(first.books.releases) == repr(second.books.releases)
    steps = answered / example.calibration().grid
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert np.log2(example.calibration().grid) % 1 == 0


@every_example
def test_the_other_currencies_are_refused(name):
    example = EXAMPLES[name]
    gate = gate_over(example, np.zeros((example.n_rows, example.width)))
    for wrong in (once(1.0), pure(1.0), smooth(Gaussian(1.0))):
        with pytest.raises(InputError, match="event"):
            gate.ask(example.query, example.state, wrong)
    with pytest.raises(InputError, match="whose noise follows the records"):
        gate.ask(CountBelow(columns=(0,)), np.zeros(1), smooth(example.event))
    with pytest.raises(BudgetError):
        gate.ask(example.query, example.state, smooth(example.event))
    assert gate.books.releases == ()


@every_example
def test_equal_data_get_noise_all_the_same(name):
    example = EXAMPLES[name]
    data = np.ones((example.n_rows, example.width))
    answers = {tuple(ask(example, data, seed)[1]) for seed in range(5)}
    assert len(answers) == 5


@pytest.mark.parametrize("name", ["trimmed-mean/numerical", "sample-aggregate/means"])
def test_a_block_can_be_asked_and_costs_its_records_only(name):
    example = EXAMPLES[name]
    data = np.random.default_rng(6).standard_normal((2 * example.n_rows, example.width))
    gate = gate_over(example, data)
    halves = gate.partition("halves", 2)
    event = example.calibration().event
    gate.reserve(Parallel("halves", 0, event), unprotected=True)
    answers = [
        gate.ask(example.query, example.state, smooth(example.event), block=block)
        for block in halves
    ]
    assert np.isfinite(answers).all()
    assert [release.event() for release in gate.books.releases] == [
        Parallel("halves", block, event) for block in (0, 1)
    ]
