"""Rows of persons: which are used she alone decides, and nothing tells how many there are."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.told import Told
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows, UsedRows
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.privacy.unit import Unit
from tailguard.progress import listening
from tailguard.queries.base import calibration_for
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.usable_records import CellKinds
from tailguard.queries.view import View


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


@pytest.mark.long
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


def test_one_more_void_row_moves_no_bit_and_would_if_rows_came_in_chunks(monkeypatch):
    """Later chunks would begin at other rows, and each rounds anew."""
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
