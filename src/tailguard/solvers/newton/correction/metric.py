"""The metric of the correction: by which matrix contributions are multiplied before they are cut.

A record's contribution to the gradient is its slope times its row; for squares the slope is the
residual. Rounds clip slopes and rows at the levels that are best for predictions, so they follow
the bulk of the records. The correction multiplies contributions by a matrix ``T``, and cuts the
lengths of the products. One high level is enough, and a histogram of lengths shows what this level
still cuts.

In coordinates in which the curvature is one, ``T = V^(-1/4)``, where ``V`` is the released
covariance of contributions. If contributions are cut at a fixed multiple of their root mean square
length, the squared noise is proportional to ``tr(T V T) tr(T^(-2))``, which is least for this
``T``, by the inequality of Cauchy and Schwarz. ``V^(-1/2)`` would make the ratio of noise to
sampling error the same in every direction, but directions of far contributions, whose variance is
hardly known, would determine the level of all others.

The covariance is released twice, as the curvature is. If a likelihood is correct, its curvature is
also the covariance of contributions, so it replaces the coarse release.

Reference
---------
Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 4.2 (self-standardised influence); McCullagh
and Nelder 1989, Section 2.2.2 (variance of the slope and curvature agree).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.view import View
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.correction.curvature import (
    TYPICAL_TAIL,
    Curvature,
    Moments,
    loss_view,
    release_lengths,
    release_moments,
)
from tailguard.solvers.newton.correction.tail import Tail
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.state import Fit

# The most noise of second moments of contributions, as of those of rows.
CONTRIBUTIONS_NOISE = 0.4
# Eigenvalues of the covariance are raised to these, as those of the curvature are.
COVARIANCE_FLOOR, LEAST_COVARIANCE = 0.5, 0.05


@dataclass(frozen=True, eq=False)
class Metric:
    """The metric in which contributions are cut, and the releases that define it.

    Attributes
    ----------
    first, last
        Matrices ``T1`` and ``T2``. Contributions are multiplied by ``T = T1 T2``.
    moments
        Second moments of contributions times ``T1``.
    tail
        The lengths of contributions times ``T1``.
    """

    first: FloatArray
    last: FloatArray
    moments: Moments
    tail: Tail

    @property
    def matrix(self) -> FloatArray:
        """The matrix ``T``, by which contributions are multiplied."""
        return np.asarray(self.first @ self.last)

    @property
    def scale(self) -> float:
        """The ratio of the typical length of contributions times ``T`` to that times ``T1``."""
        values, vectors = self.moments.spectrum
        square = float(((vectors.T @ self.last) ** 2).sum(axis=1) @ values)
        return math.sqrt(max(square / max(float(values.sum()), 1e-300), 1e-12))

    def covariance(self) -> FloatArray:
        """Return the covariance of contributions times ``T``, with a tail and a noise margin."""
        width, moments = len(self.last), self.moments
        tail = TYPICAL_TAIL * self.tail.beyond(moments.level, 2.0) / width
        values, vectors = np.linalg.eigh(moments.matrix)
        values = np.maximum(values + tail, self.tail.least_variance(width))
        covariance = self.last.T @ (vectors * values) @ vectors.T @ self.last
        return np.asarray(covariance + moments.noise_std * self.scale**2 * np.eye(width))


def release_metric(session: FitSession, fit: Fit, curvature: Curvature) -> Metric:
    """Release second moments of contributions, and again in the metric of the first release.

    The curvature of a likelihood replaces the first release.
    """
    view, state, most_noise = contributions(session, fit), fit.weights, CONTRIBUTIONS_NOISE
    root = _power(curvature.matrix, -0.5)  # times this, rows have unit second moments
    inner = np.eye(len(root))
    if not session.loss.link.curved:
        names = "contribution lengths", "contribution moments"
        by_root = view.through(view.matrix @ root)
        coarse = release_moments(session, by_root, state, names, most_noise)
        inner = _balanced(coarse.raised(_floor(coarse), 1.0))
    first, back = root @ inner, np.linalg.inv(inner)
    again = view.through(view.matrix @ first)
    names = "contribution lengths again", "contribution moments again"
    moments = release_moments(session, again, state, names, most_noise)
    tail = _tail(session, fit, moments.lengths, curvature, first)
    floor = max(_floor(moments), tail.least_variance(view.width))
    last = back @ _balanced(back @ moments.raised(floor, 1.0) @ back)
    return Metric(first, last, moments, tail)


def likely_metric(session: FitSession, fit: Fit, curvature: Curvature) -> Metric:
    """Return the metric in which contributions to a correct likelihood have unit covariance.

    This releases the lengths of contributions.
    """
    view, first = contributions(session, fit), _power(curvature.matrix, -0.5)
    view = view.through(view.matrix @ first)
    lengths = release_lengths(session, view, fit.weights, "contribution lengths")
    identity = np.eye(view.width)
    moments = Moments(identity, 0.0, math.inf, lengths)
    return Metric(first, identity, moments, _tail(session, fit, lengths, curvature, first))


def contributions(session: FitSession, fit: Fit) -> View:
    """Return the view of whitened contributions."""
    return loss_view(session, fit).contributions()


def _power(matrix: FloatArray, power: float) -> FloatArray:
    """Return a power of a positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 1e-300) ** power) @ vectors.T)


def _balanced(covariance: FloatArray) -> FloatArray:
    """Return the matrix ``T`` for a covariance of contributions; their mean variance becomes 1."""
    matrix = _power(covariance, -0.25)
    variance = float(np.trace(matrix @ covariance @ matrix)) / len(matrix)
    return np.asarray(matrix / math.sqrt(variance))


def _tail(
    session: FitSession, fit: Fit, lengths: NoisyDistribution, curvature: Curvature,
    first: FloatArray,
) -> Tail:  # fmt: skip
    """Return the tail of contributions times ``first``, also from residuals at a typical row.

    In units of the target's scale, the variance of counts is their mean divided by that scale.
    The contribution of a person is a mean of at most ``max_rows`` rows. If the rows vary
    independently, its variance is at least theirs over ``max_rows``. Residuals of rows are
    shortened as much as contributions are in mean square: not at all if rows are alike.
    """
    slopes, link, geometry = fit.clipping.slopes, session.loss.link, fit.geometry
    likely, max_rows = link.curved and session.loss.canonical, session.problem.max_rows
    least = len(first) / geometry.units.target_scale / (max_rows or 1) if likely else 0.0
    if not slopes.seen or session.loss.bounds_slopes:  # lengths of contributions tell it
        return Tail(lengths, np.zeros(1), np.zeros(1), least)
    square = float(np.trace(first.T @ curvature.matrix @ first))
    if link.curved:
        square /= fit.clipping.rows.weight
    residuals = np.abs(slopes.distribution.points)
    if max_rows is not None:
        of_rows = square * slopes.distribution.mean(residuals**2)
        square *= min(1.0, lengths.mean(lengths.points**2) / max(of_rows, 1e-300))
    return Tail(lengths, residuals * math.sqrt(square), slopes.distribution.mass, least)


def _floor(moments: Moments) -> float:
    """Return the least eigenvalue of a covariance; lower ones are raised to it."""
    mean = max(float(moments.spectrum[0].mean()), 1e-12)
    return max(COVARIANCE_FLOOR * moments.edge, LEAST_COVARIANCE * mean)
