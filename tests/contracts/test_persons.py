"""Persons as records: to replace all rows of one moves no query by more than the gate charges.

A person is replaced by one with 1 to 100 rows, and up to 1000 in the audit, hostile, void or alike,
under another key. Then the faults that this has to see: each is put in, and seen.
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter

import numpy as np
import pytest

import tailguard as tg
from support.adversary import records
from support.attack import MU, has_pure_form, move
from support.examples import query_examples
from support.person_attack import (
    EXAMPLES,
    N_PERSONS,
    REPLACED,
    UNITS,
    calibrated,
    lattice,
    neighbour,
    table,
)
from support.query_example import N_FEATURES
from tailguard.data.columns import identifiers_of
from tailguard.data.rows import persons as persons_module
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows, UsedRows, shares_of
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.means.clamped import ClampedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.unit import Unit
from tailguard.queries.base import calibration_for
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.usable_records import WeightTotals
from tailguard.queries.view import View

PURE = [name for name, example in EXAMPLES.items() if has_pure_form(example.query)]
SQUARED = {"whitened-histogram/slopes"}
GAPS = "level-tables", "count-of-levels"  # a missing cell is a level, and is counted as one
every_example = pytest.mark.parametrize("name", EXAMPLES)


def persons_of(example, rows, keys, unit):
    """The persons as the gate reads them, under a key of their own."""
    identifiers = np.asarray(keys) if isinstance(keys, np.ndarray) else keys
    found = Persons.of(identifiers, unit)
    assert found.count == N_PERSONS
    return PersonRows(example.read(rows), found, SimulationSource(3))


def attacked(name, unit, n_pairs, seed, most=100):
    """Yield an order, persons, and the same ones with one of them replaced, five times."""
    rng, example = np.random.default_rng(seed), EXAMPLES[name]
    for kind in range(n_pairs // 5):
        told = [table(rng, example.width, kind)]
        order = rng.permutation(N_PERSONS)
        told += [neighbour(rng, *told[0], example.width, most) for _ in range(5)]
        yield order, [persons_of(example, *each, unit) for each in told]


@lru_cache(maxsize=64)
def attacked_once_read(name, unit, n_pairs, seed):
    """What several queries are asked, where nothing is mutated."""
    return [*attacked(name, unit, n_pairs, seed)]


def read_alike(name):
    """The first example whose records are read as those of this one are."""
    how = attrgetter("loss", "exposed", "weighted")
    return next(other for other in EXAMPLES if how(EXAMPLES[other]) == how(EXAMPLES[name]))


def attack(example, unit, found, asked=None):
    """Replace persons; return the largest move over the charged one."""
    worst, calibration = 0.0, calibrated(example, unit, asked)
    norm, allowed = calibration.sensitivity.norm, calibration.charged / calibration.grid
    for order, persons in found:
        before, *others = (lattice(example, each, calibration, order) for each in persons)
        worst = max(worst, *(move(before, after, norm) / allowed for after in others))
    return worst


@every_example
def test_one_replaced_person_moves_the_lattice_by_at_most_the_charge(name):
    for seed, unit in enumerate(UNITS):
        found = attacked_once_read(read_alike(name), unit, 20, seed)
        assert attack(EXAMPLES[name], unit, found) <= 1.0 + 1e-12, unit


@pytest.mark.parametrize("name", PURE)
def test_with_laplace_noise_the_move_is_charged_in_its_own_norm(name):
    for seed, unit in enumerate(UNITS):
        found = attacked_once_read(read_alike(name), unit, 20, seed)
        assert attack(EXAMPLES[name], unit, found, Laplace(MU)) <= 1.0 + 1e-12, unit


@pytest.mark.audit
@every_example
def test_thousands_of_replaced_persons_never_exceed_the_charge(name):
    for seed, unit in enumerate(UNITS):
        found = attacked(name, unit, 1_000, 100 + seed, most=1_000)
        assert attack(EXAMPLES[name], unit, found) <= 1.0 + 1e-12, unit


GROUPED = [name for name, example in EXAMPLES.items() if example.query.places == "random"]


@pytest.mark.parametrize("name", GROUPED)
def test_where_a_new_key_numbers_others_anew_an_order_as_likely_keeps_their_places(name):
    """She was the eighth; by her new key she is the first, the last, or in the midst."""
    example, rng, unit = EXAMPLES[name], np.random.default_rng(6), UNITS[1]
    calibration, order = calibrated(example, unit), rng.permutation(N_PERSONS)
    rows, keys = table(rng, example.width, 0)
    own = keys == 10 * REPLACED
    before = lattice(example, persons_of(example, rows, keys, unit), calibration, order)
    others = np.delete(np.arange(N_PERSONS), REPLACED)
    for key, number in ((-5, 0), (10 * N_PERSONS, N_PERSONS - 1), (125, 12)):
        numbers = np.empty(N_PERSONS, dtype=np.int64)
        numbers[others], numbers[REPLACED] = np.delete(np.arange(N_PERSONS), number), number
        new = records(rng, 5, example.width)
        told = np.concatenate([rows[~own], new]), np.append(keys[~own], np.full(5, key))
        after = lattice(example, persons_of(example, *told, unit), calibration, numbers[order])
        moved = move(before, after, calibration.sensitivity.norm)
        assert moved <= calibration.charged / calibration.grid * (1.0 + 1e-12)


def moved_in_groups(number, before, after):
    """How far the median of three groups goes, two low ones and a high one, over the charge."""
    unit = Unit(person="key", max_rows=40)
    query = ClampedMean(None, Units.raw(1, intercept=False), threshold=1.0, n_groups=3)
    calibration = calibration_for(query, N_PERSONS, 1, Gaussian(MU), unit.max_rows)
    numbers, answers = np.arange(N_PERSONS), []
    for own in (before, after):
        values = np.append(np.delete(np.where(numbers < 26, -9.0, 9.0), number), own)
        keys = np.append(np.delete(numbers, number), np.full(len(own), number))
        rows = PersonRows(make_rows(values[:, None]), Persons.of(keys, unit), SimulationSource(3))
        answers.append(query.answer(rows.in_order(numbers), np.zeros(1), calibration))
    return move(*answers, "l2") * calibration.grid / calibration.charged


def test_a_person_moves_the_median_of_groups_by_the_mean_of_her_rows_in_her_own():
    assert 0.95 <= moved_in_groups(15, [-9.0], [9.0] * 40) <= 1.0
    assert moved_in_groups(15, [9.0, -9.0], [9.0] * 40) == pytest.approx(0.5, abs=1e-3)
    assert moved_in_groups(30, [9.0], [-9.0] * 40) == 0.0


def moved_by_equal_rows(example, unit):
    """How far a person of three equal rows goes from one record to the other, and the charge."""
    calibration = calibrated(example, unit)
    background = np.repeat(example.background(N_PERSONS), 2, axis=0)
    answers = []
    for record in (example.old, example.new):
        keys = np.repeat(10 * np.arange(N_PERSONS), 2)
        rows = np.concatenate([background[keys != 40], np.tile(record, (3, 1))])
        keys = np.concatenate([keys[keys != 40], np.full(3, 40)])
        told = persons_of(example, rows, keys, unit)
        answers.append(lattice(example, told, calibration, np.arange(N_PERSONS)))
    return move(*answers, calibration.sensitivity.norm) * calibration.grid, calibration


@every_example
def test_a_person_of_equal_rows_attains_what_a_record_does(name):
    moved, calibration = moved_by_equal_rows(EXAMPLES[name], Unit(person="key", max_rows=3))
    # Three rows whose shares are squared, as their slopes are, count a third.
    assert moved >= (0.3 if name in SQUARED else 0.9) * calibration.sensitivity.ideal


@every_example
def test_neither_the_order_of_rows_nor_the_number_of_void_ones_moves_a_bit(name):
    """A void person adds nothing, whether she has one row or a thousand; nor do rows of nobody."""
    example, rng = EXAMPLES[name], np.random.default_rng(5)
    rows, keys = table(rng, example.width, 0)
    own, unit = keys == 10 * REPLACED, Unit(person="key", max_rows=3)
    calibration, order = calibrated(example, unit), rng.permutation(N_PERSONS)
    answers = []
    for count in (1, 2, 3, 5, 1000):
        for nobody in (0, 700):
            found = np.concatenate([rows[~own], np.full((count + nobody, example.width), np.nan)])
            told = [*keys[~own].tolist(), *[10 * REPLACED] * count, *[None] * nobody]
            places = rng.permutation(len(found))
            one = persons_of(example, found[places], [told[p] for p in places], unit)
            answers.append(lattice(example, one, calibration, order))
    # A third of a person is rounded down: of cells, which count whatever they hold, three of them.
    most = 3 * example.width if example.query.reads_cells or name.startswith(GAPS) else 0
    for answer in answers[1:]:
        assert np.abs(answer - answers[0]).sum() <= most


def test_shares_of_a_person_add_up_to_at_most_one_in_real_numbers():
    for count in [*range(1, 2000), 2**20 - 1, 2**20]:
        (share,) = shares_of(np.array([count]))
        assert 1.0 - 1e-9 < count * Fraction(float(share)) <= 1


def test_keys_are_whole_numbers_and_texts_and_a_missing_one_is_nobody():
    unit = Unit(person="key", max_rows=2)
    keys = [7, "7", 7.0, None, "", "  ", float("nan"), 1.5, "a", True, "1"]
    found = Persons.of(identifiers_of(keys), unit)
    assert found.count == 3
    assert found.numbers.tolist() == [1, 1, 1, -1, -1, -1, -1, -1, 2, 0, 0]
    with pytest.raises(tg.InputError, match="key must hold a key"):
        Persons.of([None, ""], unit)


def test_the_variance_of_a_person_s_sum_is_that_of_clusters():
    """Outer products of summed contributions, as one works them out by hand."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 6, 300)
    keys = np.repeat(np.arange(300), counts)
    X = np.repeat(rng.standard_normal((300, 2)), counts, axis=0)
    y = np.repeat(rng.standard_normal(300), counts) + rng.standard_normal(len(keys))
    part = 1.0 / counts[keys]
    contributions = np.zeros((300, 2))
    np.add.at(contributions, keys, part[:, None] * (-y[:, None] * X))
    clusters = contributions.T @ contributions / 300
    rows_alone = (part[:, None] * y[:, None] * X).T @ (part[:, None] * y[:, None] * X) / 300
    view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    rows = make_rows(X, y, loss=view.loss)
    persons = Persons.of(keys, Unit(person="key", max_rows=9))
    gate = Gate(
        PersonRows(rows, persons, SimulationSource(0)),
        guarantee=tg.GDP(1e6),
        source=SimulationSource(0),
    )
    stage = Stage("test", "a query", 4e5, 1, 1)
    gate.reserve(Gaussian(9e5))
    found = gate.ask(SecondMoments(view.contributions(), 60.0, 60.0), np.zeros(2), stage)
    np.testing.assert_allclose(found, clusters, atol=2e-3)
    assert np.abs(rows_alone - clusters).max() > 0.2


def test_a_person_weighs_what_her_rows_do_together():
    X, keys = np.array([[1.0], [2.0], [np.nan], [4.0], [5.0]]), [1, 1, 1, 2, 3]
    for weight, expected in (
        ("person", [2 / 3 + 2, 4 / 9 + 2]),
        ("row", [2 / 4 + 2 / 4, 1 / 4 + 2 / 16]),
    ):
        unit = Unit(person="key", max_rows=4, weight=weight)
        rows = PersonRows(make_rows(X), Persons.of(keys, unit), SimulationSource(0))
        calibration = WeightTotals().calibrate(3, 1, MU)
        found = WeightTotals().answer(rows, None, calibration) * calibration.grid
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_queries_that_are_no_sums_over_rows_are_refused_before_a_record_is_read():
    unit = Unit(person="key", max_rows=2)
    for example in query_examples():
        if getattr(example.query, "takes_persons", False) or example.exposed or example.weighted:
            continue
        rows = make_rows(np.ones((40, N_FEATURES)), np.ones(40))
        told = PersonRows(rows, Persons.of(np.arange(40) // 2, unit), SimulationSource(0))
        gate = Gate(told, guarantee=tg.GDP(1.0), source=SimulationSource(0))
        stage = Stage("test", "a query", 0.5, 1, 1)
        gate.reserve(stage.event)
        with pytest.raises(tg.InputError, match="a record cannot have several rows"):
            gate.ask(example.query, example.state, stage)
        assert not gate.books.releases, example.name
    assert set(QUERIES) > {name.split("/")[0] for name in EXAMPLES}
    assert SMOOTH_QUERIES


# Faults -----------------------------------------------------------------------------------------


def largest(names, unit, seed=0, n_pairs=40):
    return max(attack(EXAMPLES[name], unit, attacked(name, unit, n_pairs, seed)) for name in names)


def some(*words):
    """Examples whose names begin with these words."""
    found = [name for name in EXAMPLES if name.startswith(words)]
    assert found
    return found


def test_a_cap_that_is_forgotten_is_seen(monkeypatch):
    unit = Unit(person="key", max_rows=3, weight="row")
    assert largest(some("level-gradients"), unit) <= 1.0
    monkeypatch.setattr(Unit, "max_rows", 10**6, raising=False)
    chosen = persons_module._chosen_rows

    def uncapped(rows, persons, hashed, **told):
        object.__setattr__(persons.unit, "max_rows", 10**6)
        found = chosen(rows, persons, hashed, **told)
        object.__setattr__(persons.unit, "max_rows", 3)
        return found

    monkeypatch.setattr(persons_module, "_chosen_rows", uncapped)
    assert largest(some("level-gradients"), Unit(person="key", max_rows=3, weight="row")) > 1.5


def test_shares_that_are_left_out_are_seen(monkeypatch):
    monkeypatch.setattr(persons_module, "shares_of", lambda counts: np.ones(len(counts)))
    cut_when_summed = "contribution", "weight-totals", "second-moments/slopes", "deviance-moments"
    for name, example in EXAMPLES.items():
        if example.query.together != "groups" and not any(w in name for w in cut_when_summed):
            moved, calibration = moved_by_equal_rows(example, Unit(person="key", max_rows=3))
            assert moved > 1.05 * calibration.charged, name
    assert moved_in_groups(15, [-9.0] * 3, [9.0] * 3) > 1.5


@pytest.mark.long
def test_rows_in_the_place_of_persons_in_pairs_are_seen(monkeypatch):
    paired = [name for name in GROUPED if EXAMPLES[name].query.together == "some"]
    unit = Unit(person="key", max_rows=40)
    assert largest(paired, unit) <= 1.0

    def by_rows(used, order):
        count = np.array([used.counts.sum() // 2 * 2])
        return UsedRows(used.rows, count, np.ones(1), np.ones(1))

    monkeypatch.setattr(UsedRows, "in_pairs", by_rows)
    assert largest(paired, unit) > 1.05


def test_rows_in_the_place_of_persons_in_groups_are_seen(monkeypatch):
    """Her many rows then move the ends of all groups."""
    block = UsedRows.block

    def by_rows(used, first, last, *, grouped=False):
        found = block(used, first, last)
        places = np.arange(found.n_rows) * N_PERSONS // found.n_rows
        return replace(found, person=places if grouped else found.person)

    monkeypatch.setattr(UsedRows, "block", by_rows)
    assert moved_in_groups(39, [9.0], [9.0] * 40) > 2.0


def test_roundings_that_are_charged_once_are_seen():
    """Forty rows of a person whose contributions all round up, each by itself."""
    rows = make_rows(np.full((40, 1), 1.0), np.zeros(40))
    unit = Unit(person="key", max_rows=40)
    view = View.plain(None, Units.raw(1, intercept=False))
    query = SecondMoments(view, 1.0, 1.0)
    once = query.calibrate(2, 1, 2000.0)
    charged = calibration_for(query, 2, 1, Gaussian(2000.0), 40)
    told = PersonRows(rows, Persons.of(np.zeros(40, int), unit), SimulationSource(0))
    answer = query.answer(told, None, once)[0] * once.grid
    off = abs(answer - 1.0) / once.grid
    assert off > 2.0  # more than one rounding of one record may come to
    assert charged.charged - charged.sensitivity.computed >= 40 * charged.grid
    assert charged.noise_std > once.noise_std


@pytest.mark.parametrize("asked", [Gaussian(2.0), Laplace(2.0)])
def test_each_entry_of_a_peeled_step_is_charged_for_the_roundings_of_all_rows(asked):
    query = PeeledStep(tg.losses.Squared(), Units.raw(9, intercept=False), 4.0, 0.5, 2)
    once, charged = (calibration_for(query, 2_000, 9, asked, m) for m in (1, 40))
    assert charged.mechanism == once.mechanism
    assert (charged.n_selected, charged.n_free) == (2, 0)
    share = getattr(asked, "mu", None) or asked.epsilon
    for calibration, rows in ((once, 1), (charged, 40)):
        assert calibration.charged - calibration.sensitivity.computed >= rows * calibration.grid
        assert calibration.share <= share
    assert charged.noise_std > once.noise_std
