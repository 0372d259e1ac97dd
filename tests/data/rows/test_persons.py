"""Persons as records: a table of a single person."""

import numpy as np
import polars as pl
import pytest

import tailguard as tg

N_ROWS = 5
BUDGET = {"guarantee": tg.GDP(1e4), "random_state": 0, "on_unusable": "fit"}
ONE_PERSON = {"person": "key", "max_rows": 3}
SOURCES = {"memory": lambda table: table, "batches": pl.DataFrame.lazy}


@pytest.mark.parametrize("source", SOURCES)
def test_a_single_person_makes_no_pair(source):
    columns = {"x": np.arange(N_ROWS) + 0.5, "y": np.arange(N_ROWS) - 2.0, "key": ["a"] * N_ROWS}
    table = SOURCES[source](pl.DataFrame(columns))
    found = tg.mean(table, **ONE_PERSON, **BUDGET)
    model = tg.LinearRegression(**ONE_PERSON, **BUDGET).fit(table, target="y")
    for certificate in (found.certificate, model.certificate_):
        assert certificate.n_rows == 1
        assert "histograms of pair differences" in [each.name for each in certificate.releases]
