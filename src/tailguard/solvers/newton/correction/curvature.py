"""The curvature of the correction: second moments of rows, cut at a length and released twice.

The second release is in the metric of the first. In that metric fewer rows are far longer than
others, so the cut can be closer. The curvature of a likelihood is the second moment of rows that
are multiplied by the root of their record's curvature. Rows of bounded slopes of residuals count by
the rise of the slope.

Reference
---------
Wang 2018 (noised second moments); McCullagh and Nelder 1989, Section 2.2.2 (the expected curvature
of a likelihood).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.queries.histograms import WhitenedHistogram
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.view import View
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import CORRECTION_LENGTHS, LENGTHS_OF_SQUARES
from tailguard.solvers.newton.start import curvature_weighting
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.newton.whitening import cleaned, inflation, noise_level

EQUAL = Weighting()  # every record counts fully
# The most noise of second moments of rows: its largest eigenvalue, the edge, as a share of the mean
# second moment of a coordinate.
ROWS_NOISE = 0.5
# Eigenvalues are raised to the first share of the noise's edge, and to the second share of their
# mean.
CURVATURE_FLOOR, LEAST_CURVATURE = 0.35, 0.1
# A direction is vague if its curvature is below this many edges of the noise and below the second
# number.
VAGUE, MOST_VAGUE = 1.5, 0.7
# The part of the second moment beyond a cut that lies along a typical direction. Few records have
# such lengths, each in its own direction.
TYPICAL_TAIL = 0.5


@dataclass(frozen=True, eq=False)
class Moments:
    """Released second moments of rows or contributions, cut at a length.

    Attributes
    ----------
    matrix, noise_std
        The release, and the noise of its diagonal.
    level
        The length of the cut.
    lengths
        The distribution of lengths, from which the level was chosen.
    weight
        The mean weight of the records, by which ``lengths`` are weighted.
    """

    matrix: FloatArray
    noise_std: float
    level: float
    lengths: NoisyDistribution
    weight: float = 1.0

    @property
    def edge(self) -> float:
        """The largest eigenvalue of the noise."""
        return noise_level(self.noise_std, len(self.matrix))

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, cleaned of noise, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.matrix)
        return cleaned(values, self.edge)[0], vectors

    def raised(self, floor: float, power: float, more: float = 0.0) -> FloatArray:
        """Raise eigenvalues to the floor and add ``more``; return a power of this matrix."""
        values, vectors = self.spectrum
        return np.asarray((vectors * (np.maximum(values, floor) + more) ** power) @ vectors.T)


def release_lengths(
    session: FitSession, view: View, state: FloatArray, name: str, weights: Weighting = EQUAL
) -> NoisyDistribution:
    """Release a histogram of the lengths of rows, or of contributions.

    Far contributions, which would bias intervals, are sought more closely than far rows.
    """
    bins = CORRECTION_LENGTHS
    if session.loss.link.residual and not session.loss.bounds_slopes:
        bins = replace(LENGTHS_OF_SQUARES, unit=math.sqrt(view.width))
    query = WhitenedHistogram(view, "length", bins, weights)
    counts, noise_std = session.histograms(query, state, session.stages[name])
    read = NoisyDistribution.with_far_bins if view.times == "slope" else NoisyDistribution.of
    return read(counts, bins, noise_std)


def release_moments(
    session: FitSession,
    view: View,
    state: FloatArray,
    names: tuple[str, str],
    most_noise: float,
    lengths: NoisyDistribution | None = None,
    weights: Weighting = EQUAL,
) -> Moments:
    """Release lengths, unless they are known, and second moments, at the stages ``names``.

    Records count by ``weights`` times their bound. The noise of the cut moments must be small
    against them. Of such cuts, at least as long as the median, contributions take the longest,
    since a bin may hide a far one. Rows take the one with the least error: the variance that noise
    adds to a Newton step, its square, plus the part of the second moment beyond the cut. That part
    lies along between one and all directions: it counts times the root of their number.
    """
    if lengths is None:
        lengths = release_lengths(session, view, state, names[0], weights)
    stage, squares = session.stages[names[1]], lengths.points**2
    level, least = lengths.quantile(0.5), math.inf
    mean_weight = 1.0
    if weights != EQUAL:
        mean_weight = max(weights.bound * lengths.total / session.n_rows(), 1e-12)
    for candidate in map(float, lengths.levels):
        query = SecondMoments(view, candidate, candidate, weights)
        noise_std = session.noise_of(query, stage) * weights.bound / mean_weight
        kept = max(lengths.mean(np.minimum(squares, candidate**2)), 1e-300)
        noise = noise_level(noise_std, view.width) * view.width / kept
        error = math.sqrt(view.width) * (lengths.mean(squares) / kept - 1.0)
        if view.times != "slope":
            error += noise**2
        if candidate > level and noise <= most_noise and error <= least:
            level, least = candidate, error
    query = SecondMoments(view, level, level, weights)
    released = session.ask(query, state, stage) * weights.bound
    noise_std = session.noise_of(query, stage) * weights.bound
    return Moments(released, noise_std, level, lengths, mean_weight)


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second moments of whitened rows, from two releases.

    Attributes
    ----------
    first
        The inverse root of the first release. It multiplies the rows of the second release.
    second
        The second release.
    ridge
        The curvature of the ridge, in whitened weights.
    """

    first: FloatArray
    second: Moments
    ridge: FloatArray

    @property
    def floor(self) -> float:
        """The least eigenvalue of the second release; lower ones are raised to it."""
        return max(CURVATURE_FLOOR * min(self.second.edge, 1.0), LEAST_CURVATURE)

    @property
    def matrix(self) -> FloatArray:
        """Second moments of whitened rows."""
        back = np.linalg.inv(self.first)
        return np.asarray(back @ self.second.raised(self.floor, 1.0, self.tail) @ back)

    @cached_property
    def root(self) -> FloatArray:
        """The Cholesky root of the matrix."""
        return np.asarray(np.linalg.cholesky(self.matrix))

    @property
    def inverse(self) -> FloatArray:
        """The inverse of the curvature, including that of the ridge."""
        if self.ridge.any():
            return np.asarray(np.linalg.inv(self.matrix + self.ridge))
        return np.asarray(self.first @ self.second.raised(self.floor, -1.0, self.tail) @ self.first)

    @property
    def tail(self) -> float:
        """The second moment beyond the cut along a typical direction of the second release."""
        return TYPICAL_TAIL * self.lost()

    @property
    def resolved(self) -> BoolArray:
        """Which eigenvectors of the second release stand out."""
        return np.asarray(self.second.spectrum[0] >= self.floor)

    @property
    def resolved_directions(self) -> FloatArray:
        """A basis, as columns, of whitened weights along which the curvature stands out."""
        return np.asarray((self.first @ self.second.spectrum[1])[:, self.resolved])

    def lost(self) -> float:
        """Return the second moment of rows beyond the cut, per coordinate."""
        lengths, level = self.second.lengths, self.second.level
        beyond = np.maximum(lengths.points**2 - level**2, 0.0)
        return self.second.weight * lengths.mean(beyond) / len(self.first)

    def shares(self, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the share of each weight's variance along raised and along vague directions.

        ``matrix`` maps whitened weights to the weights in question.
        """
        values, vectors = self.second.spectrum
        parts = (matrix @ self.first @ vectors) ** 2 / (np.maximum(values, self.floor) + self.tail)
        total = np.maximum(parts.sum(axis=1), 1e-300)
        vague = values < min(VAGUE * self.second.edge, MOST_VAGUE)
        return parts[:, ~self.resolved].sum(axis=1) / total, parts[:, vague].sum(axis=1) / total

    @property
    def inflation(self) -> float:
        """The ratio of the standard error to its value with an exact curvature."""
        return math.sqrt(inflation(self.second.edge**2))


def release_curvature(session: FitSession, fit: Fit) -> Curvature:
    """Release second moments of rows, weighted by curvatures unless the loss is squared."""
    (view, weights), unit = _rows(session, fit), 1.0
    lengths: NoisyDistribution | None = fit.clipping.rows.distribution
    if session.loss.link.curved or weights != EQUAL:
        unit = max(fit.clipping.curvature, 1e-12) ** -0.5  # so that the curvature is about one
        view, lengths = view.through(unit * view.matrix), None
    names = "row lengths", "curvature of rows"
    moments = release_moments(session, view, fit.weights, names, ROWS_NOISE, lengths, weights)
    return Curvature(unit * np.eye(view.width), moments, fit.geometry.penalty)


def release_curvature_again(session: FitSession, fit: Fit, coarse: Curvature) -> Curvature:
    """Release the curvature again, in the metric of the first release."""
    first = coarse.first @ coarse.second.raised(coarse.floor, -0.5)
    view, weights = _rows(session, fit)
    again = view.through(view.matrix @ first)
    names = "row lengths again", "curvature of rows again"
    second = release_moments(session, again, fit.weights, names, ROWS_NOISE, None, weights)
    return Curvature(first, second, fit.geometry.penalty)


def _rows(session: FitSession, fit: Fit) -> tuple[View, Weighting]:
    """Return the view and the weights of rows whose second moments are the curvature.

    For bounded slopes of residuals the weight is the rise of the slope.
    """
    if session.loss.link.curved:
        return loss_view(session, fit).curved(), EQUAL
    weights = EQUAL
    if session.loss.bounds_slopes:
        weights = curvature_weighting(session, fit, fit.geometry.loss.slope_bound())
    return fit.geometry.view, weights


def loss_view(session: FitSession, fit: Fit) -> View:
    """Return the view of the loss that is corrected, which is not that of balanced slopes."""
    loss = session.loss if session.loss.link.curved else fit.geometry.loss
    return replace(fit.geometry.view, loss=loss)
