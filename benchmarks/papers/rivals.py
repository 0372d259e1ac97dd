"""What the papers' methods are compared with: DP-SGD, descent as the library has it, no privacy."""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

import tailguard as tg
from tailguard.kernels.soft_truncation import soft_truncation
from tailguard.papers.parameters import wang2020
from tailguard.privacy.accounting.solve import calibrate
from tailguard.privacy.events import Repeated, Sampled

DP_SGD, DESCENT = "DP-SGD, oracle-tuned", "clipped descent, tailguard"
OPTIMUM, ROBUST = "optimum of the sample, not private", "robust descent, not private"

BATCH_ROWS = 500
N_STEPS = 300
CLIPS = (0.1, 0.3, 1.0)  # of the root mean square that the norm of the gradient is told to have
STEPS = (1.0, 3.0, 10.0)  # of diameter / (G sqrt(T))
SETTINGS = tuple(product(CLIPS, STEPS))
ROBUST_STEPS = 10
ROBUST_FAILURE = 0.01


@dataclass(frozen=True)
class Rival:
    """A competitor: ``settings`` of which the best in hindsight is shown, and a private fit."""

    key: str
    settings: tuple
    fit: object


@lru_cache(maxsize=64)
def _step_mu(n_rows, batch_rows, epsilon, delta):
    """Replace-one mu of one step on a secret sample without replacement, for all steps together."""
    rate = batch_rows / n_rows
    return calibrate(
        lambda mu: Repeated(Sampled(mu, rate), N_STEPS), tg.ApproxDP(epsilon, delta), accuracy=1e-4
    )


def dp_sgd(task, epsilon, X, y, seed, setting):
    """Clipped gradients of random batches with noise (Abadi and others 2016)."""
    clip, factor = setting
    clip_norm = clip * task.known.norm
    rng = np.random.default_rng([zlib.crc32(task.name.encode()), seed, int(1000 * epsilon)])
    rows = min(BATCH_ROWS, len(X))
    mu = _step_mu(len(X), rows, epsilon, task.delta)
    noise = 2.0 * clip_norm / (rows * mu)
    reach = math.hypot(clip_norm, noise * math.sqrt(task.n_features)) * math.sqrt(N_STEPS)
    step = factor * task.known.diameter / reach
    w = task.constraint.project(np.zeros(task.n_features))
    points = []
    for _ in range(N_STEPS):
        batch = rng.choice(len(X), rows, replace=False, shuffle=False)
        gradients = task.loss.slope(X[batch] @ w, y[batch])[:, None] * X[batch]
        norms = np.linalg.norm(gradients, axis=1)
        mean = (clip_norm / np.maximum(norms, clip_norm)) @ gradients / rows
        slope = mean + task.penalty * w + noise * rng.normal(size=w.size)
        w = task.constraint.project(w - step * slope)
        points.append(w)
    return np.mean(points[N_STEPS // 2 :], axis=0)  # of the second half


def descent(task, epsilon, X, y, seed, _setting):
    """Run the library's own projected descent: it buys its clip level and is told nothing."""
    return tg.minimize(
        task.loss,
        X,
        y,
        guarantee=task.guarantee(epsilon),
        constraint=task.constraint,
        solver="noisy-gradient-descent",
        random_state=seed,
        **task.labels,
    ).coef


RIVALS = (Rival(DP_SGD, SETTINGS, dp_sgd), Rival(DESCENT, (None,), descent))


def robust_descent(task, X, y):
    """Full-batch descent on smoothed soft truncation, without noise (Holland 2019)."""
    facts = {"moment_bound": task.known.coordinate, "failure_probability": ROBUST_FAILURE}
    scale = wang2020.printed_scale(n_rows=len(X), **facts)
    smoothing = wang2020.printed_smoothing(failure_probability=ROBUST_FAILURE)
    w = task.constraint.project(np.zeros(task.n_features))
    for _ in range(ROBUST_STEPS):
        gradients = task.loss.slope(X @ w, y)[:, None] * X
        mean = scale * soft_truncation(gradients / scale, smoothing).mean(axis=0)
        w = task.constraint.project(w - (mean + task.penalty * w) / task.known.smoothness)
    return w
