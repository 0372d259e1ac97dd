"""Noiseless recursions, independent of the library, and solvers without noise for comparison."""

import numpy as np

import tailguard as tg
from support.spy import GENEROUS, run_over
from tailguard.gate.plan import Problem
from tailguard.queries import clipped_minimiser
from tailguard.queries.certified_descent import certified_point


def data(n_rows, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    truth = np.array([0.6, -0.4, 0.2, 0.1, -0.3])[:n_features]
    return X, X @ truth + 0.3 * rng.standard_normal(n_rows)


def without_noise(
    solver, X, y, constraint, *, loss=None, intercept=False, monkeypatch=None, guarantee=GENEROUS
):
    """The solution of a solver on zero noise, with minimisers as exact as floats allow."""
    if monkeypatch is not None:
        monkeypatch.setattr(
            clipped_minimiser,
            "certified_point",
            lambda step, size, facts, distance: certified_point(step, size, facts, 1e-11),
        )
    problem = Problem(loss or tg.losses.Squared(), *X.shape, intercept, constraint)
    return run_over(solver, problem, X, y, guarantee)[0]


def consecutive(X, y, sizes):
    """Without randomness, blocks are consecutive records."""
    ends = np.cumsum(sizes)
    return [(X[e - s : e], y[e - s : e]) for s, e in zip(sizes, ends, strict=True)]


def in_ball(center, radius):
    """The map that draws points into a ball."""
    return lambda z: center + (z - center) / max(1.0, np.linalg.norm(z - center) / radius)


def clipped_slope(w, X, y, clip_norm, row_limit):
    """Mean clipped gradient of half the squared residual."""
    rows = X * np.minimum(1.0, row_limit / np.linalg.norm(X, axis=1))[:, None]
    limits = clip_norm / np.linalg.norm(rows, axis=1)
    return np.clip(rows @ w - y, -limits, limits) @ rows / len(y)


def penalised(w, X, y, strength, project=lambda z: z, *, clip_norm, row_limit, penalty=0.0):
    """Minimise the clipped loss with both penalties by plain projected descent."""
    start, step_size = w, 1.0 / (row_limit**2 + strength + penalty)
    for _ in range(200_000):
        slope = clipped_slope(w, X, y, clip_norm, row_limit)
        new = project(w - step_size * (slope + strength * (w - start) + penalty * w))
        if np.linalg.norm(new - w) <= 1e-15:
            break
        w = new
    return w
