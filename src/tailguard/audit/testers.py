"""Tests that distinguish two neighbours, trained on pilot runs and evaluated on fresh runs.

A trained tester decides whether a run looks like a run of the second neighbour. Any such function
is a test in the sense of differential privacy, so its two errors on fresh runs give a *valid* lower
bound; a bad tester gives a low bound.

=========== ===================================================================================
threshold   a threshold on the linear discriminant; the best test for Gaussian noise
classifier  logistic regression on the numbers and their products
cells       the hockey-stick estimator: cells of the discriminant by their likelihood ratio,
            so the event may consist of several intervals
kernel      a threshold on the witness function of the maximum mean discrepancy
=========== ===================================================================================

A claim in rho is tested by the Renyi divergences of the same events, which is valid by data
processing. Neither an estimate of a whole divergence from samples nor a discrepancy alone is a
bound, so none is reported.

Reference
---------
Fisher 1936; Balle, Barthe and Gaboardi 2018 (hockey-stick divergence); Gretton, Borgwardt, Rasch,
Schoelkopf and Smola 2012, Section 2.3 (witness function); Domingo-Enrich and Mroueh 2022 (privacy
by kernel discrepancies); Jagielski, Ullman and Oprea 2020.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from tailguard.array_types import BoolArray, FloatArray
from tailguard.audit.bounds import PrivacyClaim, clopper_pearson_upper

Decide: TypeAlias = Callable[[FloatArray], BoolArray]
"""Takes runs, one per row; returns which of them look like the second neighbour's."""

Learn: TypeAlias = Callable[[FloatArray, FloatArray, PrivacyClaim, int, float], Decide]
"""Takes runs of both neighbours, the claim, the number of fresh runs and the false alarm."""

Score: TypeAlias = Callable[[FloatArray], FloatArray]
"""Scores runs, one per row: a higher score looks more like the second neighbour's."""

N_CUTS, N_CELLS = 97, 16  # candidate thresholds; cells, so few that pilot runs fill them
SMALLEST_UNIT = 1e-300  # the unit of a number that is the same in all runs


def discriminant(first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
    """Return the linear map, weights and offset, of means to 0 and 1 that has the least spread."""
    means = first.mean(axis=0), second.mean(axis=0)
    centred = np.concatenate([first - means[0], second - means[1]])
    unit = np.maximum(centred.std(axis=0), SMALLEST_UNIT)
    gap = (means[1] - means[0]) / unit
    weights = np.linalg.lstsq(np.atleast_2d(np.cov((centred / unit).T)), gap, rcond=1e-9)[0]
    weights = weights / unit / max(float(weights @ gap), SMALLEST_UNIT)
    return weights, float(weights @ means[0])


def discriminant_score(first: FloatArray, second: FloatArray) -> Score:
    """Learn the linear discriminant."""
    weights, offset = discriminant(first, second)

    def score(runs: FloatArray) -> FloatArray:
        return runs @ weights - offset

    return score


def classifier_score(first: FloatArray, second: FloatArray) -> Score:
    """Learn a logistic regression on the numbers and their products."""
    # scikit-learn takes long to load, so only this tester loads it.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler  # noqa: PLC0415

    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    sides = np.repeat([0, 1], [len(first), len(second)])
    model.fit(np.concatenate([first, second]), sides)
    return model.decision_function


def cell_score(first: FloatArray, second: FloatArray) -> Score:
    """Learn the likelihood ratio of the second neighbour in each cell of the discriminant."""
    discriminant_of = discriminant_score(first, second)
    both = discriminant_of(np.concatenate([first, second]))
    edges = np.quantile(both, np.linspace(0.0, 1.0, N_CELLS + 1)[1:-1])
    counts = [
        np.bincount(np.searchsorted(edges, discriminant_of(runs)), minlength=N_CELLS) + 0.5
        for runs in (first, second)
    ]
    ratio = counts[1] / counts[0]

    def score(runs: FloatArray) -> FloatArray:
        return ratio[np.searchsorted(edges, discriminant_of(runs))]

    return score


def kernel_score(first: FloatArray, second: FloatArray) -> Score:
    """Learn the witness function of the maximum mean discrepancy.

    The witness is bounded, so a test of its mean would be valid as well. But it is weaker, since
    the two means are close: at mu = 2 the means prove 0.8 to 1.2, and counted errors 1.6 to 1.8.
    """
    centred = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    unit = np.maximum(centred.std(axis=0), SMALLEST_UNIT) * np.sqrt(first.shape[1])

    def witness(runs: FloatArray) -> FloatArray:
        similarities = [
            np.exp(-0.5 * (((runs[:, None] - side[None]) / unit) ** 2).sum(axis=2)).mean(axis=1)
            for side in (first, second)
        ]
        return similarities[1] - similarities[0]

    return witness


def _counted_errors(
    first: FloatArray, second: FloatArray, cuts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return both error probabilities of each threshold, as in the pilot runs; none is zero."""
    wrong = ((first[:, None] > cuts).sum(axis=0) + 0.5) / (first.size + 1)
    missed = ((second[:, None] <= cuts).sum(axis=0) + 0.5) / (second.size + 1)
    return wrong, missed


def _normal_errors(
    first: FloatArray, second: FloatArray, cuts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return both error probabilities of each threshold if scores are normal.

    A threshold chosen by them is always valid. It varies less with the pilot runs than one that is
    chosen by counted errors.
    """
    units = [max(float(side.std()), SMALLEST_UNIT) for side in (first, second)]
    return ndtr((first.mean() - cuts) / units[0]), ndtr((cuts - second.mean()) / units[1])


def _tester(
    learn_score: Callable[[FloatArray, FloatArray], Score],
    errors: Callable[..., tuple[FloatArray, FloatArray]] = _normal_errors,
) -> Learn:
    """Return a tester that learns a score, and then the threshold on it that proves the most."""

    def train(
        first: FloatArray, second: FloatArray, claim: PrivacyClaim, n_runs: int, false_alarm: float
    ) -> Decide:
        score = learn_score(first, second)
        sides = score(first), score(second)
        cuts = np.quantile(np.concatenate(sides), np.linspace(0.02, 0.98, N_CUTS))
        wrong, missed = (
            clopper_pearson_upper(chance * n_runs, n_runs, false_alarm / 2.0)
            for chance in errors(*sides, cuts)
        )
        threshold = float(cuts[np.argmax(claim.least(wrong, missed))])
        return lambda runs: score(runs) > threshold

    return train


TESTERS: dict[str, Learn] = {
    "threshold": _tester(discriminant_score),
    "classifier": _tester(classifier_score),
    "cells": _tester(cell_score, _counted_errors),
    "kernel": _tester(kernel_score),
}
"""Every tester by name."""
