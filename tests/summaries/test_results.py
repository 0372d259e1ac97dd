"""Tables of results as text: folded to the screen, and nothing that is known is left out."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tailguard as tg
from tailguard.summaries.results import ResultTable, text_table

HEADER = ("group", "column", "usable", "mean", "95% from", "to", "std", "median")
UNKNOWN = (math.nan,) * 5
NAMES = [f"measure of part {place:02d}" for place in range(60)]


def table_of(hidden=("moon",), usable=2_500):
    """Four groups of sixty columns; noise hides most of some groups."""
    rows = [
        (
            group,
            name,
            usable,
            *(UNKNOWN if group in hidden else (1.23456, -1.23456e-8, 123456.0, 7.12345, -8.12345)),
        )
        for group in ("north", "south", "moon")
        for name in NAMES
    ]
    return ResultTable("", HEADER, rows)


@pytest.mark.parametrize("width", [60, 80])
def test_a_folded_table_has_all_parts_of_a_group_below_its_name(width):
    lines = text_table(table_of(), width)
    assert max(map(len, lines)) <= width
    places = [lines.index(group) for group in ("north", "south", "moon")]
    assert places == sorted(places)
    north = lines[: places[1]]
    n_parts = sum(line.startswith("column ") for line in north)
    assert [line.split()[3] for line in north if line.startswith("measure")] == [
        name.split()[3] for _ in range(n_parts) for name in NAMES
    ]
    assert {"usable", "mean", "95%", "from", "to", "std", "median"} <= {*" ".join(north).split()}
    assert sum(line.startswith("measure") for line in lines[places[2] :]) == len(NAMES)


def test_a_table_that_fits_keeps_its_column_of_groups():
    lines = text_table(table_of(), 200)
    assert len(lines) == 1 + 3 * len(NAMES)
    assert lines[0].split()[:2] == ["group", "column"]


def test_groups_of_one_row_keep_their_column():
    table = ResultTable("", HEADER, table_of().rows[:: len(NAMES)])
    assert all(
        line == "" or line.split()[0] in {"group", "north", "south", "moon"}
        for line in text_table(table, 60)
    )


def test_of_a_group_without_a_known_cell_the_name_stays():
    lines = text_table(table_of(("moon",), math.nan), 40)
    assert lines[-2:] == ["", "moon  -"]
    lines = text_table(table_of(("north", "south", "moon"), math.nan), 40)
    assert lines == ["north  -", "", "south  -", "", "moon  -"]


def test_intervals_in_frames_have_the_names_of_coefficients():
    """They were called ``95% from`` and ``to``."""
    x = pd.DataFrame({"x": np.random.default_rng(0).normal(size=5_000), "y": 1.0})
    options = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    for found in (
        tg.describe(x, **options),
        tg.quantile(x, **options),
        tg.actual_expected(x, "x", "y", **options),
    ):
        frame = found.to_frame()
        assert frame.low[0] < frame.high[0]
        assert "95% from" in repr(found)


def test_frames_keep_the_names_of_counted_columns():
    """A column named ``to`` was called ``high``."""
    schema = {"categorical": {"from": ["a", "b"], "to": ["a", "b"]}}
    table = pd.DataFrame({"from": ["a", "b"] * 500, "to": ["b", "a"] * 500})
    found = tg.crosstab(table, ["from", "to"], schema=schema, epsilon=1.0, delta=1e-6)
    assert list(found.to_frame()) == ["from", "to", "records", "noise_std"]


@pytest.mark.parametrize("library", [pd, pl])
def test_a_named_series_keeps_its_name(library):
    ages = np.random.default_rng(0).uniform(20.0, 80.0, 4_000)
    ages = library.Series(name="age at entry", **{"values" if library is pl else "data": ages})
    for summary in (tg.quantile, tg.histogram, tg.variance, tg.describe):
        assert "\nage at entry " in repr(summary(ages, epsilon=2.0, delta=1e-6, random_state=0))
