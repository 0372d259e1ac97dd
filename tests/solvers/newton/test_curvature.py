"""The curvature of bounded slopes: rows count by the rise of the slope."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.correction import curvature
from tailguard.solvers.newton.correction.curvature import Curvature, Moments


@pytest.mark.parametrize("times", [0.2, 5.0])
def test_what_lies_beyond_the_cut_does_not_depend_on_the_unit_of_a_loss(times):
    """A loss that is ``times`` as large gives each record that weight, in rows that are shorter."""
    counts = np.array([0.0, 800.0, 0.0, 200.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=1e-9)
    scaled = replace(lengths, points=lengths.points / np.sqrt(times))
    cut, other = (
        Moments(np.eye(2), 0.0, 2.0 / np.sqrt(weight), each, weight)
        for each, weight in ((lengths, 1.0), (scaled, times))
    )
    lost = [Curvature(np.eye(2), each, np.zeros((2, 2))).lost() for each in (cut, other)]
    assert lost[0] > 0.5
    assert lost[0] == pytest.approx(lost[1])


def test_the_mean_rise_of_slopes_is_the_same_from_a_sample_and_from_all_records(monkeypatch):
    """Lengths of rows are counted in a sample first, and then in all records."""
    found, release = [], curvature.release_moments

    def watched(*given):
        found.append(release(*given))
        return found[-1]

    monkeypatch.setattr(curvature, "release_moments", watched)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((250_000, 2))
    y = X.sum(axis=1) + rng.standard_normal(250_000)
    model = tg.HuberRegression(epsilon=4.0, delta=1e-6, random_state=0).fit(X, y)
    assert model.plan_.stage("row lengths").block_map is not None
    assert model.plan_.stage("row lengths again").block_map is None
    sample, whole = (moments.weight for moments in found)
    assert 0.5 < whole < 1.0
    assert sample == pytest.approx(whole, rel=0.05)
