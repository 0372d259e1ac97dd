"""Persons as records: to replace all rows of one moves no query by more than the gate charges.

A person is replaced by one with 1 to 100 rows, and up to 1000 in the audit, hostile, void or alike,
under another key. Then the faults that this has to see: each is put in, and seen.
"""

import json
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
from support.told import Told
from tailguard.data.columns import identifiers_of
from tailguard.data.inputs import Inputs
from tailguard.data.rows import persons as persons_module
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows, UsedRows, shares_of
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.means.clamped import ClampedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.privacy.unit import Unit
from tailguard.progress import listening
from tailguard.queries.base import calibration_for
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.units import Units
from tailguard.queries.usable_records import CellKinds, WeightTotals
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


GROUPED = [name for name, example in EXAMPLES.items() if example.query.random_order]


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


def all_used(rows):
    return rows.used().block(0, rows.n_rows)


def test_rows_are_chosen_by_what_the_person_has_herself():
    """Neither other persons, nor the number of hers, nor an order decides which of her rows."""
    rng = np.random.default_rng(0)
    own, unit = np.sort(rng.standard_normal(50)), Unit(person="key", max_rows=10)

    def used(others, before, order):
        values = np.concatenate([own, others])[order]
        keys = np.concatenate([np.full(50, 100), before + np.arange(len(others))])[order]
        persons = Persons.of(keys, unit)
        rows = all_used(PersonRows(ArrayRows(values[:, None]), persons, SimulationSource(3)))
        place = np.flatnonzero(np.isin(rows.features[:, 0], own))
        return rows.features[place, 0].tolist()

    first = used(rng.standard_normal(30), 1_000, np.arange(80))
    assert len(first) == 10
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(80)
        assert used(rng.standard_cauchy(30), int(rng.choice([-9, 5_000])), order) == first


def test_a_random_draw_of_rows_is_even_and_equal_rows_are_drawn_one_by_one():
    unit, counts = Unit(person="key", max_rows=2), np.zeros(5)
    for seed in range(400):
        values = np.array([0.0, 1.0, 2.0, 3.0, 3.0])[:, None]
        rows = PersonRows(
            ArrayRows(values), Persons.of(np.zeros(5, int), unit), SimulationSource(seed)
        )
        found, times = np.unique(all_used(rows).features, return_counts=True)
        counts[found.astype(int)] += times
    assert counts.sum() == 800
    np.testing.assert_allclose(counts[:4] / 400, [0.4, 0.4, 0.4, 0.8], atol=0.1)


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
    clipped = SecondMoments(view, 9.0, 9.0, Weighting(kind="squared-slope", slope_limit=9.0))
    found = gate.ask(clipped, np.zeros(2), stage) * 9.0**2
    np.testing.assert_allclose(found, clusters, atol=2e-3)
    again = gate.ask(SecondMoments(view.contributions(), 60.0, 60.0), np.zeros(2), stage)
    np.testing.assert_allclose(again, clusters, atol=2e-3)
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


# Whole runs -------------------------------------------------------------------------------------


def tables(n_persons=300):
    """Neighbours of as many persons: the first has one void row, or a thousand; rows of nobody."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 8, n_persons)
    keys = np.repeat(np.arange(n_persons), counts).astype(object)
    X = rng.standard_normal((len(keys), 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(len(keys))
    for n_void, n_nobody in ((1, 0), (1_000, 0), (3, 5_000)):
        more = n_void + n_nobody
        yield (
            np.concatenate([X, np.full((more, 2), np.nan)]),
            np.concatenate([y, np.full(more, np.nan)]),
            [*keys, *["void"] * n_void, *[None] * n_nobody],
        )


def told_of_a_fit(folder, X, y, keys, **options):
    """All that a fit leaves: numbers, words, files, ledger lines and progress."""
    ledger = tg.Ledger(folder / "l.sqlite", "t", guarantee=tg.GDP(9.0), person="person")
    options = {"guarantee": tg.GDP(2.0), "max_rows": 5, **options}
    told = Told()
    with listening(told):
        model = tg.LinearRegression(**options, random_state=0).fit(X, y, person=keys)
    named = {"person": keys, "max_rows": 5}
    mean = tg.mean(X, guarantee=tg.GDP(2.0), random_state=0, **named)
    checkpointed = tg.LinearRegression(**options, random_state=0, checkpoint=folder / "point").fit(
        X, y, person=keys
    )
    private = tg.LinearRegression(**options, ledger=ledger).fit(X, y, person=keys)
    lines = [line.data() for line in ledger.lines()]
    # Of the charge the run's name is random, and of what was released that which released numbers
    # decided: the noise of this run is fresh.
    charged = [{k: v for k, v in line.items() if k != "released_by"} for line in lines[:2]]
    return {
        "coef": repr([model.coef_, model.intercept_, model.coef_std_, checkpointed.coef_]),
        "mean": [*mean.value, *mean.noise_std],
        "words": [model.explain(), model.summary(), repr(mean), mean.explain()],
        "certificates": [json.loads(m.certificate_.to_json()) for m in (model, checkpointed)],
        "mean certificate": mean.certificate.to_json(),
        "plan": [private.plan_.explain(), private.certificate_.n_rows],
        "charged": charged,
        "report": model.report().to_json(),
        "heard": told.heard,
    }


def test_nothing_that_leaves_depends_on_the_number_of_rows(tmp_path):
    told = []
    for number, (X, y, keys) in enumerate(tables()):
        folder = tmp_path / str(number)
        folder.mkdir()
        told.append(told_of_a_fit(folder, X, y, keys))
    for other in told[1:]:
        assert other == told[0]
    assert told[0]["certificates"][0]["n_rows"] == 301


def test_errors_tell_no_number_of_rows():
    said = []
    for X, y, keys in tables():
        with pytest.raises(tg.InputError) as length:
            tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5).fit(X, y[:-1], person=keys)
        with pytest.raises(tg.InputError) as keyed:
            tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5).fit(X, y, person=keys[:-1])
        with pytest.raises(tg.BudgetError) as dear:
            tg.LinearRegression(
                guarantee=tg.GDP(2.0),
                max_rows=5,
                ledger=tg.Ledger("x.sqlite", "t", epsilon=1.0, delta=1e-6),
            ).fit(X, y, person=keys)
        shapes = []
        for matrix, target, key in (
            (X, np.tile(y[:, None], 2), keys),
            (X, y, np.tile(np.array(keys, dtype=object)[:, None], 2)),
            (X[:, 0], y, keys),
            (X[:, :0], y, keys),
            (X[:, :, None], y, keys),
        ):
            with pytest.raises(tg.InputError) as shape:
                tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5).fit(
                    matrix, target, person=key
                )
            shapes.append(str(shape.value))
        said.append([*(str(each.value) for each in (length, keyed, dear)), *shapes])
    assert said[0] == said[1] == said[2]
    assert "must count persons by 'person', as this run does; it counts rows" in said[0][2]


# Faults -----------------------------------------------------------------------------------------


def largest(names, unit, seed=0, n_pairs=40):
    return max(attack(EXAMPLES[name], unit, attacked(name, unit, n_pairs, seed)) for name in names)


@pytest.mark.parametrize("cells", [(None, "x"), (np.nan, np.inf), (None, 3.0)])
def test_of_rows_that_are_read_alike_the_order_decides_none(cells):
    """Words and empty cells are no numbers alike; where a target is void so is the row."""
    keys = np.repeat(np.arange(41), 2)
    told = {Unit(person="key", max_rows=1): set(), Unit(person="key", max_rows=2): set()}
    for step in (1, -1):
        target = np.array([*cells[::step]] * 41, dtype=object)
        rows = make_rows(np.zeros((82, 1)), target)
        for unit, counts in told.items():
            persons = PersonRows(rows, Persons.of(keys, unit), SimulationSource(3))
            calibration = calibration_for(CellKinds(2), 41, 1, Gaussian(1.0), unit.max_rows)
            counts.add(tuple(CellKinds(2).answer(persons, None, calibration).tolist()))
    assert [len(counts) for counts in told.values()] == [1, 1]
    assert len({counts for each in told.values() for counts in each}) == 2  # some are drawn


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


def test_chunks_of_rows_are_seen(monkeypatch):
    """One more void row would move all later chunks, and each of these rounds anew."""
    rng = np.random.default_rng(0)
    X, keys = rng.standard_normal((5_000, 3)), np.repeat(np.arange(1_000), 5)
    view = View.plain(tg.losses.Squared(), Units.raw(3, intercept=False))
    query = SecondMoments(view, 3.0, 3.0)
    calibration = calibration_for(query, 1_001, 3, Gaussian(1.0), 5)

    def moved():
        answers = []
        for n_void in (1, 2):
            data = np.concatenate([np.full((n_void, 3), np.nan), X])
            told = Persons.of(np.concatenate([np.full(n_void, -1), keys]), UNIT)
            rows = PersonRows(ArrayRows(data), told, SimulationSource(0))
            answers.append(query.answer(rows, None, calibration))
        return np.abs(answers[0] - answers[1]).max()

    UNIT = Unit(person="key", max_rows=5)
    assert moved() == 0
    block = UsedRows.block
    monkeypatch.setattr(
        UsedRows, "block", lambda *told, **more: replace(block(*told, **more), first=0)
    )
    assert moved() > 0


def test_a_draw_that_looks_at_other_persons_is_seen(monkeypatch):
    values = persons_module._values

    def by_number(rows, persons, hashed):
        numbered = Persons(persons.unit, persons.numbers, persons.numbers, persons.count)
        return values(rows, numbered, hashed)

    monkeypatch.setattr(persons_module, "_values", by_number)
    with pytest.raises(AssertionError):
        test_rows_are_chosen_by_what_the_person_has_herself()


def test_a_missing_key_that_is_a_person_is_seen(monkeypatch):
    of = Persons.of.__func__

    def counted(cls, keys, unit):
        return of(cls, [0 if key is None else key for key in keys], unit)

    monkeypatch.setattr(Persons, "of", classmethod(counted))
    X, y, keys = list(tables())[2]
    model = tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5, random_state=0)
    assert (
        model.fit(X, y, person=[k if k is None else f"{k}!" for k in keys]).certificate_.n_rows
        == 302
    )


@pytest.mark.parametrize("where", ["plan", "lattice"])
def test_rows_that_are_counted_are_seen(where, monkeypatch, tmp_path):
    if where == "plan":
        monkeypatch.setattr(Inputs, "n_records", property(lambda self: self.n_rows))
        (X, y, keys) = next(tables())
        with pytest.raises(tg.InputError, match="plan must be for the gate's 301 records"):
            tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5, random_state=0).fit(
                X, y, person=keys
            )
        return
    begin = PersonRows.__init__

    def by_rows(rows, *told):
        begin(rows, *told)
        rows.n_rows = int(rows.used().counts.sum())

    monkeypatch.setattr(PersonRows, "__init__", by_rows)
    (X, y, keys) = next(tables())
    with pytest.raises(tg.InputError, match="plan must be for the gate's"):
        tg.LinearRegression(guarantee=tg.GDP(2.0), max_rows=5, random_state=0).fit(
            X, y, person=keys
        )
