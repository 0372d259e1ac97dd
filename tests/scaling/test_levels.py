"""Scales of indicators from counts of their levels."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.gate.stage import Stage
from tailguard.scaling.columns import MeasuredColumns
from tailguard.scaling.sizes_and_locations import NEAREST_BOUND
from tailguard.scaling.units import LEAST_SEEN, SPREAD, count_levels

NOISE = 10.0


class Told:
    """A session that answers with given counts."""

    def __init__(self, counts):
        self.counts = np.array(counts, dtype=np.float64)

    def n_rows(self, stage=None):
        return 1000

    def histograms(self, query, state, stage, *, columns=1):
        assert (query.size, columns) == (self.counts.size, 2)
        return self.counts, NOISE


def scales(counts):
    """Two categorical columns: of two levels, features 1 and 2, and of one level, feature 0."""
    columns = MeasuredColumns(4, target=True, levels=((1, 2), (0,)))
    return count_levels(Told(counts), columns, Stage("level counts", "", 1.0, 1, 5))


def test_a_scale_follows_the_root_of_the_share():
    found = scales([500, 490, 10, 100, 900])
    assert found.scale[0] == pytest.approx(SPREAD * 0.7)
    assert found.scale[2] == pytest.approx(SPREAD * np.sqrt(0.9))
    assert found.center.tolist() == [0.0, 0.0, 0.0]
    assert found.often_zero.tolist() == [True, True, False]


def test_a_level_or_a_baseline_that_noise_may_have_made_is_not_seen():
    least = LEAST_SEEN * NOISE
    found = scales([least, least + 1.0, least, least + 1.0, 900])
    assert found.detected.tolist() == [True, False, True]
    assert found.without_baseline.tolist() == [True, True, False]


def test_no_indicator_lies_beyond_the_nearest_bound():
    columns = MeasuredColumns(10_000, levels=((1, 2), (0,)))
    told = Told([940, 30, 30, 970, 30])
    found = count_levels(told, columns, Stage("level counts", "", 1.0, 1, 5))
    assert (1.0 / found.scale <= NEAREST_BOUND).all()


def categorical(seed, n_rows=20_000):
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west", "rare"], n_rows, p=[0.4, 0.35, 0.2495, 0.0005])
    table = pd.DataFrame({"region": region, "age": rng.gamma(4.0, 10.0, n_rows)})
    effect = {"north": 0.0, "south": 1.0, "west": -1.0, "rare": 0.0}
    y = [effect[name] for name in region] + 0.05 * table.age + rng.standard_normal(n_rows)
    return table, y


def test_levels_without_records_have_no_number_and_are_predicted_as_the_baseline():
    table, y = categorical(0)
    schema = {"categorical": {"region": ["north", "south", "west", "rare", "phantom"]}}
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, schema=schema, random_state=0)
    frame = model.fit(table, y).coef_frame()
    hidden = ["region=rare", "region=phantom", "region=other"]
    assert frame.coefficient[hidden].isna().all()
    assert frame.reason["region=phantom"] == frame.reason["region=rare"]
    assert frame.reason["region=other"].endswith("no records")
    assert "fewer records have this level" in frame.reason["region=rare"]
    np.testing.assert_allclose(
        frame.coefficient[["region=south", "region=west"]], [1, -1], atol=0.2
    )
    rows = pd.DataFrame({"region": ["north", "rare", "phantom", "moon"], "age": [40.0] * 4})
    assert np.ptp(model.predict(rows)) == 0.0


def test_levels_beside_a_rare_baseline_and_their_constant_have_no_number():
    table, y = categorical(1)
    schema = {"categorical": {"region": ["rare", "north", "south", "west"]}}
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, schema=schema, random_state=0)
    frame = model.fit(table, y).coef_frame()
    assert frame.coefficient.notna().tolist() == [False, False, False, False, True, False]
    assert "the baseline of this column" in frame.reason["region=north"]
    assert "the baseline of this column" in frame.reason["(intercept)"]


def test_counted_levels_are_asked_for_nothing_else():
    table, y = categorical(2, 2000)
    schema = {"categorical": {"region": ["north", "south", "west", "rare"]}, "drop": ["age"]}
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, schema=schema, random_state=0)
    stages = {release.stage for release in model.fit(table, y).certificate_.releases}
    assert "level counts" in stages
    assert not stages & {"typical size", "location", "scale", "shared size"}


def test_levels_are_counted_without_an_intercept_too():
    table, y = categorical(3)
    schema = {"categorical": {"region": ["north", "south", "west", "rare"]}}
    budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    model = tg.LinearRegression(schema=schema, fit_intercept=False, **budget).fit(table, y)
    assert len(model.reasons_) == len(model.coef_) == len(model.coef_frame())
