"""Rows of persons: which are used she alone decides, and nothing tells how many there are."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows, UsedRows
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.privacy.unit import Unit
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
        rows = all_used(PersonRows(make_rows(values[:, None]), persons, SimulationSource(3)))
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
            make_rows(values), Persons.of(np.zeros(5, int), unit), SimulationSource(seed)
        )
        found, times = np.unique(all_used(rows).features, return_counts=True)
        counts[found.astype(int)] += times
    assert counts.sum() == 800
    np.testing.assert_allclose(counts[:4] / 400, [0.4, 0.4, 0.4, 0.8], atol=0.1)


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
            rows = PersonRows(make_rows(data), told, SimulationSource(0))
            answers.append(query.answer(rows, None, calibration))
        return np.abs(answers[0] - answers[1]).max()

    UNIT = Unit(person="key", max_rows=5)
    assert moved() == 0
    block = UsedRows.block
    monkeypatch.setattr(
        UsedRows, "block", lambda *told, **more: replace(block(*told, **more), first=0)
    )
    assert moved() > 0
