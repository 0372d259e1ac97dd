"""Histograms of columns and counts of records: accuracy, edges and refusals."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

N_ROWS = 20_000
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = {"categorical": {"region": ["north", "south"]}}


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "normal": rng.normal(1e4, 1.0, N_ROWS),
            "heavy": np.exp(2.0 * rng.normal(size=N_ROWS)),
            "whole": rng.poisson(1.0, N_ROWS).astype(float),
            "region": rng.choice(["north", "south", "moon", None], N_ROWS),
        }
    )


def test_histograms_count_cells_between_public_edges_and_in_a_private_range():
    data = table()
    public = tg.histogram(data, edges=[0.5, 1.5], schema=SCHEMA, random_state=4, **PROMISE)
    exact = np.histogram(data["whole"], [-np.inf, 0.5, 1.5, np.inf])[0]
    assert public.counts.shape == (3, 3)
    np.testing.assert_allclose(public.counts[2], exact, atol=6.0 * public.noise_std)
    private = tg.histogram(data, 8, schema=SCHEMA, random_state=4, **PROMISE)
    assert private.counts.shape == (3, 10)
    low, high = private.edges[0, [0, -1]] - 1e4
    assert -3.0 < low < -1.5
    assert 1.5 < high < 3.0
    assert abs(private.counts[0].sum() - N_ROWS) < 6.0 * private.noise_std * 10**0.5
    assert len(private.to_frame()) == 30


def test_an_edge_beside_zeros_is_zero():
    """It was shown as 6.8e-49."""
    cost = np.where(np.arange(20_000) % 3 == 0, 0.0, np.exp(np.linspace(0.0, 5.0, 20_000)))
    found = tg.histogram(pd.DataFrame({"cost": cost}), 8, random_state=0, **PROMISE)
    assert found.edges[0, 0] == 0.0
    assert found.counts[0, 0] == pytest.approx(20_000 / 3, abs=100)


@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ({"region": "north"}, lambda r: r == "north"),
        ({"region": ["south", "other"]}, lambda r: r in ("south", "moon")),
        ({"region": "missing"}, pd.isna),
    ],
)
def test_counts_are_of_records_with_one_of_the_levels(where, meets):
    data = table()
    result = tg.count(data, where, schema=SCHEMA, random_state=5, **PROMISE)
    exact = sum(map(meets, data["region"]))
    assert abs(result.value - exact) < 6.0 * result.noise_std
    assert result.low <= result.value <= result.high
    assert result.noise_std < 5.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tg.histogram(table(), 0, **PROMISE), "bins .* must be"),
        (lambda: tg.histogram(table(), [0, 1], **PROMISE), "edges= for public ones"),
        (
            lambda: tg.histogram(table(), edges=[1.0, 0.0], **PROMISE),
            "edges must be 1 to 10000 finite, rising numbers",
        ),
        (lambda: tg.histogram(table(), edges="wide", **PROMISE), "edges must be .*; got 'wide'"),
        (lambda: tg.histogram(table(), edges=[[1, 2], [3]], **PROMISE), "edges must be"),
        (
            lambda: tg.histogram(table(), edges={"a": [0.0, 1.0]}, **PROMISE),
            "rising numbers, the same for all columns",
        ),
        (lambda: tg.count(table(), {"region": "north"}, **PROMISE), "none is declared"),
        (lambda: tg.count(table(), {"sex": "f"}, schema=SCHEMA, **PROMISE), "where must be"),
        (
            lambda: tg.count(table(), {"region": "mars"}, schema=SCHEMA, **PROMISE),
            "region'. must be one of",
        ),
        (lambda: tg.count(table(), [], schema=SCHEMA, **PROMISE), "where must map"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(call, words):
    with pytest.raises(tg.InputError, match=words):
        call()
