"""A hundredth of the cells far out: counted, told, and never in silence in an interval."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.summaries.distributions.distribution import DistributionEstimate
from tailguard.summaries.distributions.exceedances import N_FAR_EDGES, add_far_counts, far_edges
from tailguard.summaries.distributions.octaves import LEAST_SIZE, OCTAVES

N_ROWS = 8_000


def far_table(seed):
    """Columns of which about one cell in a hundred is far out, and an ordinary one."""
    rng = np.random.default_rng(seed)
    far = rng.random((N_ROWS, 4)) < 0.01
    plain = [
        rng.choice([1.0, 2.0, 3.0, 9.0], N_ROWS),
        1.0 + 1e-6 * rng.standard_normal(N_ROWS),
        rng.lognormal(3.0, 0.3, N_ROWS),
        rng.standard_normal(N_ROWS),
    ]
    out = [99.0, 0.0, rng.lognormal(9.0, 1.0, N_ROWS), 200.0 + 60.0 * rng.standard_normal(N_ROWS)]
    columns = [np.where(*each) for each in zip(far.T, out, plain, strict=True)]
    ordinary = rng.normal(50.0, 10.0, N_ROWS)
    return pd.DataFrame(dict(zip(["code", "share", "cost", "mixed"], columns, strict=True))).assign(
        plain=ordinary
    )


@pytest.mark.long
def test_far_cells_take_the_interval_of_a_mean_if_the_budget_can_see_them():
    held, given, kept = 0, 0, 0
    for seed in range(6):
        table = far_table(seed)
        found = tg.describe(table, epsilon=6.0, delta=1e-6, random_state=seed)
        own, finite = table.mean().to_numpy(), np.isfinite(found.mean_high - found.mean_low)[0]
        inside = (found.mean_low[0] <= own) & (own <= found.mean_high[0])
        assert inside[~finite].all()
        held += inside[:4][finite[:4]].sum()
        given += finite[:4].sum()
        kept += finite[4]
    assert given - held <= 1  # 24 narrow intervals missed before cells were counted
    assert kept == 6


def test_a_note_says_how_many_cells_noise_may_hide():
    table = far_table(0)
    for epsilon, most in ((1.0, 250), (8.0, 50)):
        found = tg.describe(table, epsilon=epsilon, delta=1e-6, random_state=0)
        (note,) = [note for note in found.notes if "far beyond its tail" in note]
        told = int(note.split("up to ")[1].split()[0])
        assert 0 < told < most
    spread = tg.variance(table, epsilon=1.0, delta=1e-6, random_state=0)
    assert any("variances do not count them" in note for note in spread.notes)


def estimate_of(cells, noise_std=1e-6):
    counts = np.histogram(cells, [-np.inf, *OCTAVES, np.inf])[0].astype(float)
    return DistributionEstimate(counts, noise_std, cells.size)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_cells_beyond_a_tail_are_told_from_those_of_one(side):
    rng = np.random.default_rng(0)
    ordinary = rng.standard_normal(N_ROWS)
    edges = far_edges(estimate_of(ordinary), -3.0, 3.0)
    noise_std = 10.0
    for far, expected in ((0, False), (80, True)):
        cells = np.append(ordinary[far:], side * np.full(far, 90.0))
        estimate = estimate_of(ordinary, noise_std)
        counts = np.histogram(cells, [-np.inf, *edges, np.inf])[0].astype(float)
        assert add_far_counts([estimate], edges[None, :], counts[None, :], noise_std) == [expected]


def test_edges_rise_and_leave_zeros_in_one_bin():
    for cells in (np.zeros(100), np.arange(100.0), np.repeat([0.0, 5.0], [90, 10])):
        edges = far_edges(estimate_of(cells), 0.0, 5.0)
        assert edges.shape == (N_FAR_EDGES,)
        assert (np.diff(edges) >= 0.0).all()
        assert not (np.abs(edges) < LEAST_SIZE).any()
    # A cell at the lower end of the range is not beyond it.
    assert far_edges(estimate_of(np.arange(1.0, 9.0)), 1.0, 8.0)[1] < 1.0
