"""Notes: a sentence for each number that noise hides or leaves uncertain, with its reason."""

import numpy as np
import pandas as pd

import tailguard as tg

N_ROWS = 20_000
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = {"categorical": {"region": ["north", "south"]}}


def normal():
    return pd.DataFrame({"normal": np.random.default_rng(0).normal(1e4, 1.0, N_ROWS)})


def test_what_noise_hides_has_no_number_and_a_note():
    data = normal().assign(words="x")
    result = tg.quantile(data, 0.5, random_state=3, **PROMISE)
    assert np.isnan(result.value[1, 0])
    assert abs(result.value[0, 0] - 1e4) < 1.0
    assert "Most cells of words are empty or no numbers: declare levels" in result.notes[-1]


def test_a_column_too_few_to_be_seen_owes_it_to_the_budget():
    data = normal().head(400)
    result = tg.quantile(data, 0.5, guarantee=tg.GDP(0.02), random_state=0)
    assert np.isnan(result.value[0, 0])
    assert "The budget was too small to see the size of normal" in result.notes[-1]


def test_notes_count_what_noise_hides_in_groups():
    """Otherwise dashes and infinite ends stand in the table without a reason."""
    data = normal().assign(region=np.where(np.arange(N_ROWS) < 5, "south", "north"))
    data["heavy"] = np.random.default_rng(0).pareto(0.9, N_ROWS)
    found = tg.describe(data, by="region", schema=SCHEMA, random_state=1, **PROMISE)
    notes = " ".join(found.notes)
    assert f"Noise hides {found.suppressed.sum()} of 8 columns of groups" in notes
    unbounded = np.isinf(found.mean_high) & ~found.suppressed
    assert unbounded.any()
    assert f"{unbounded.sum()} of 8 means of groups have no interval" in notes


def test_notes_count_the_means_of_groups_that_are_withheld():
    """They were counted as means without an interval, because of cells far out."""
    rng = np.random.default_rng(0)
    claims = np.where(rng.random((16_000, 6)) < 0.06, rng.exponential(1_500.0, (16_000, 6)), 0.0)
    table = pd.DataFrame(claims, columns=[*"abcdef"]).assign(region="north")
    schema = {"categorical": {"region": ["north"]}}
    options = {"schema": schema, "correlations": False, "guarantee": tg.GDP(0.1)}
    found = tg.describe(table, by="region", random_state=0, **options)
    withheld = found.solved.solution.moments.unknown & ~found.suppressed
    assert withheld.any()
    start = f"{withheld.sum()} of {found.mean.size} means of groups are withheld"
    assert start in " ".join(found.notes)


def test_a_note_counts_the_groups_whose_totals_are_over_different_rows():
    expected = np.random.default_rng(0).uniform(1.0, 3.0, N_ROWS)
    data = pd.DataFrame({"cost": 1.1 * expected, "told": expected})
    assert "different rows" not in " ".join(
        tg.actual_expected(data, "cost", "told", **PROMISE).notes
    )
    data.loc[: N_ROWS // 3, "told"] = np.nan
    found = tg.actual_expected(data, "cost", "told", **PROMISE)
    assert "totals of 1 of 1 groups are over different rows" in " ".join(found.notes)


def test_no_note_counts_no_cell_or_one_as_several():
    data = normal()
    for mu in (2.0, 8.0, 30.0, 100.0):
        notes = " ".join(tg.describe(data, guarantee=tg.GDP(mu), correlations=False).notes)
        assert "up to 0 " not in notes
        assert "up to 1 cells" not in notes
