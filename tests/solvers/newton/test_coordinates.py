"""Moments that the correction releases are in the coordinates that their matrices state."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.solvers.newton.correction.metric import release_metric

N_ROWS = 20_000


def cut_moments(vectors, level):
    """Second moments of vectors that are cut at a length."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    cut = vectors * np.minimum(1.0, level / lengths)
    return cut.T @ cut / len(cut)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_released_moments_are_in_the_coordinates_of_their_matrices(loss, monkeypatch):
    """Queries read records through triangular maps; what they answer is rotated back."""
    seen = []

    def watched(session, fit, curvature):
        seen.append((fit, curvature, release_metric(session, fit, curvature)))
        return seen[-1][-1]

    monkeypatch.setattr("tailguard.solvers.newton.correction.correct.release_metric", watched)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 4)) @ rng.standard_normal((4, 4))
    y = X @ [1.0, -0.5, 0.3, 0.0] + rng.standard_normal(N_ROWS) * (1.0 + np.abs(X[:, 0]))
    model = tg.LinearRegression(guarantee=tg.GDP(100.0), random_state=0)
    if loss == "logistic":
        y = (y > 0.0).astype(int)
        model = tg.LogisticRegression(guarantee=tg.GDP(100.0), classes=(0, 1), random_state=0)
    model.fit(X, y)
    ((fit, curvature, metric),) = seen
    geometry = fit.geometry
    units = geometry.units
    rows = np.clip((X - units.center) / units.scale, -geometry.bound, geometry.bound)
    rows = np.column_stack([rows, np.ones(N_ROWS)])
    target = (y - units.target_center) / units.target_scale
    score = rows @ fit.weights
    chance = 1.0 / (1.0 + np.exp(-score))
    slope, weight = (score - target, 1.0) if loss == "squared" else (
        chance - y, np.sqrt(chance * (1.0 - chance))[:, None]
    )  # fmt: skip
    second = curvature.second
    expected = cut_moments(weight * rows @ geometry.matrix @ curvature.first, second.level)
    np.testing.assert_allclose(second.matrix, expected, atol=0.02)
    contributions = slope[:, None] * rows @ geometry.matrix @ metric.first
    expected = cut_moments(contributions, metric.moments.level)
    np.testing.assert_allclose(metric.moments.matrix, expected, atol=0.02 * expected.max())
