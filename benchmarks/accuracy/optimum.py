"""Non-private fits: the optimum on a sample, and a robust one beside it."""

import numpy as np

from accuracy.risks import curvature_of, loss_values, mean_of

NEWTON_STEPS = 60
HUBER_STEPS = 30
HUBER_THRESHOLD = 1.345  # 95 % efficient for Gaussian noise (Huber 1981)


class Scaled:
    """Columns centred (where an intercept is fitted) and divided by a scale; maps back again."""

    def __init__(self, features, target, loss, *, intercept, center, scale, target_scale=1.0):
        self.intercept, self.scale = intercept, np.where(scale > 0, scale, 1.0)
        self.center = center if intercept else np.zeros(features.shape[1])
        self.target_scale = target_scale if loss == "squared" and target_scale > 0 else 1.0
        columns = (features - self.center) / self.scale
        if intercept:
            columns = np.column_stack([columns, np.ones(len(columns))])
        self.features, self.target = columns, target / self.target_scale

    def back(self, weights):
        """Return coefficients and intercept in raw units."""
        weights = np.asarray(weights, dtype=float)
        slopes, constant = (weights[:-1], weights[-1]) if self.intercept else (weights, 0.0)
        coef = slopes * self.target_scale / self.scale
        return coef, float(constant * self.target_scale - self.center @ coef)


def by_moments(features, target, loss, *, intercept):
    """Scale by mean and standard deviation."""
    return Scaled(
        features,
        target,
        loss,
        intercept=intercept,
        center=features.mean(axis=0),
        scale=features.std(axis=0) if intercept else np.sqrt((features**2).mean(axis=0)),
        target_scale=float(target.std()),
    )


def minimise(features, target, loss, *, intercept):
    """Return coefficients and intercept that minimise the mean loss of a sample."""
    scaled = by_moments(features, target, loss, intercept=intercept)
    return scaled.back(_newton(scaled.features, scaled.target, loss))


def _newton(X, y, loss):
    """Damped Newton: halve the step until the loss does not grow."""
    weights = np.zeros(X.shape[1])
    risk = np.mean(loss_values(loss, X @ weights, y))
    for _ in range(NEWTON_STEPS):
        score = X @ weights
        slope = X.T @ (mean_of(loss, score) - y) / len(y)
        hessian = (X * curvature_of(loss, score)[:, None]).T @ X / len(y)
        hessian += 1e-12 * max(np.trace(hessian), 1e-12) * np.eye(len(weights))
        step = np.linalg.lstsq(hessian, slope, rcond=None)[0]
        size = 1.0
        while True:
            candidate = weights - size * step
            new_risk = np.mean(loss_values(loss, X @ candidate, y))
            if new_risk <= risk or size < 1e-6:
                break
            size /= 2.0
        settled = risk - new_risk <= 1e-13 * max(abs(risk), 1e-12)
        weights, risk = (candidate, new_risk) if new_risk <= risk else (weights, risk)
        if settled:
            break
    return weights


def huber(features, target, *, intercept):
    """Return Huber's fit by reweighted least squares, its threshold from the median residual."""
    scaled = by_moments(features, target, "squared", intercept=intercept)
    X, y = scaled.features, scaled.target
    weights = np.linalg.lstsq(X, y, rcond=None)[0]
    for _ in range(HUBER_STEPS):
        residual = np.abs(y - X @ weights)
        threshold = max(HUBER_THRESHOLD * np.median(residual) / 0.6745, 1e-12)
        part = np.minimum(1.0, threshold / np.maximum(residual, 1e-300))
        weights = np.linalg.lstsq((X * part[:, None]).T @ X, (X * part[:, None]).T @ y, rcond=None)[
            0
        ]
    return scaled.back(weights)


def non_private_fits(features, target, loss, *, intercept):
    """Return name -> (coef, intercept) of the fits whose best is the non-private reference."""
    fits = {"erm": minimise(features, target, loss, intercept=intercept)}
    if loss == "squared":
        fits["huber"] = huber(features, target, intercept=intercept)
    return fits
