"""Whole summaries of persons, overheard: they show most of what they claim, and never more.

The first person has five rows in the middle or predicted well, or else three far out.
"""

import numpy as np
import pytest

import tailguard as tg
from support.person_attack import (
    AUDITED_MU,
    AUDITED_PERSONS,
    audited_pair,
    check_overheard,
    overheard,
)
from tailguard.data.labels import scored_cells
from tailguard.data.rows import persons as persons_module
from tailguard.summaries.scores.classes import ClassScoreStatistics
from tailguard.summaries.scores.score import ScoreStatistics
from tailguard.summaries.statistics import Statistics

N_OTHERS = 2 * (AUDITED_PERSONS - 1)


def score():
    """A score of two labels: scores and targets."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(N_OTHERS)
    targets = (scores + rng.logistic(size=N_OTHERS) > 0.0).astype(float)
    others = np.column_stack([scores, targets])
    return ScoreStatistics.of(tg.losses.Logistic()), others, [0.01, 0.0], [-1e4, 1.0]


def class_score():
    """A score of three labels: three scores and targets."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((N_OTHERS, 3))
    gumbel = rng.gumbel(size=scores.shape)
    targets = (scores + gumbel + np.array([1.0, 0.0, -2.0])).argmax(axis=1)
    ends = scored_cells(np.array([[30.0, 0.0, 0.0], [1e4, 0.0, -1e4]]), np.array([0.0, 2.0]))
    return ClassScoreStatistics.of(tg.losses.Multinomial(3)), scored_cells(scores, targets), *ends


def description():
    """Quantiles, moments, products and levels: two columns of numbers and two levels."""
    numbers, level = np.random.default_rng(0).standard_normal((2, N_OTHERS, 2))
    others = np.column_stack([numbers, level[:, 0] > 0.0, level[:, 0] <= 0.0])
    summary = Statistics(
        (0, 1), levels=(0.25, 0.5, 0.75), moments=True, products=True, tables=(((2, 3),),)
    )
    return summary, others, [0.01, 0.01, 1.0, 0.0], [1e4, 1e4, 0.0, 1.0]


def runs_of(made, n_runs):
    """Runs of everything that a summary releases, on either table by turns."""
    statistics, others, near, far = made()
    return overheard(statistics, tuple(audited_pair(others, (5, near), (3, far))), n_runs)


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "n_runs", "n_queries"), [(score, 60, 4), (class_score, 200, 3), (description, 180, 4)]
)
def test_a_whole_summary_shows_most_of_what_it_claims_of_a_person(made, n_runs, n_queries):
    check_overheard(runs_of(made, n_runs), n_queries)


@pytest.mark.parametrize(
    ("made", "shown"),
    [(score, 1.5 * AUDITED_MU), (class_score, 2.0), (description, 2 * AUDITED_MU)],
)
def test_rows_that_each_count_as_a_person_show_more_than_is_claimed(made, shown, monkeypatch):
    monkeypatch.setattr(persons_module, "shares_of", lambda counts: np.ones(len(counts)))
    assert min(one.mu for one in runs_of(made, 6)) > shown
