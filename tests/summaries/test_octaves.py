"""Octaves: which bins of the first histogram hold cells, and how rarely these are only noise."""

import math

import numpy as np
import pytest

from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.summaries.distributions.octaves import AS_ZERO, OCTAVES, WINDOWS, octaves_of

NORMAL = np.random.default_rng(0).normal(size=20_000)


def counted(values):
    return np.bincount(np.searchsorted(OCTAVES, values), minlength=len(OCTAVES) + 1).astype(float)


def test_octaves_of_both_signs_are_found_though_noise_hides_each_of_them():
    values, missed = NORMAL, 0
    exact = counted(values)
    largest = np.sort(exact)[-6:].min()  # three octaves of either sign, where most records lie
    most = np.flatnonzero(exact >= largest)
    for seed in range(50):
        noise = np.random.default_rng(seed).normal(0.0, largest / 3.0, exact.size)
        found = octaves_of(exact + noise, largest / 3.0)[0][most]
        missed += not found.any(where=most < 321)
        missed += not found.any(where=most > 321)
    assert missed <= 5


def test_a_column_about_zero_stands_out_by_both_signs_together():
    values = np.random.default_rng(0).normal(size=20_000)
    exact = counted(values)
    one_sign, positive = octaves_of(np.where(np.arange(exact.size) > 321, exact, 0.0), 1_000.0)
    kept, significance = octaves_of(exact, 1_000.0)
    assert significance == pytest.approx(math.sqrt(2.0) * positive, rel=0.05)
    assert kept[322:].sum() == kept[:320].sum() >= 3
    assert one_sign[:319].sum() == 0


@pytest.mark.long
def test_noise_alone_stands_out_as_rarely_as_it_is_said_to():
    rng, least = np.random.default_rng(0), detection_threshold(1, 0.05, WINDOWS)
    noise = rng.normal(size=(4_000, len(OCTAVES) + 1))
    stand_out = np.mean([octaves_of(row, 1.0)[1] >= least for row in noise])
    assert 0.02 < stand_out < 0.06


def test_zeros_alone_are_seen_where_one_octave_among_all_would_not_be():
    exact = counted(np.full(1_000, 1e6))
    exact[len(OCTAVES) // 2] = 400.0
    assert octaves_of(exact, 100.0)[0][len(OCTAVES) // 2]
    exact[[len(OCTAVES) // 2, 5]] = 0.0, 400.0
    assert not octaves_of(exact, 100.0)[0][5]


def test_octaves_beside_zeros_alone_are_hardly_ever_noise():
    seen, zero = 0, len(OCTAVES) // 2
    for row in np.random.default_rng(6).normal(size=(500, len(OCTAVES) + 1)):
        row[zero] += 1_000.0
        kept = octaves_of(row, 1.0)[0]
        seen += np.delete(kept, range(zero - AS_ZERO, zero + AS_ZERO + 1)).any()
    assert seen <= 1


def test_octaves_of_the_other_sign_are_rarely_seen_where_there_are_none():
    exact, seen = counted(np.exp(NORMAL)), 0
    for seed in range(80):
        noise = np.random.default_rng(seed).normal(0.0, 1_000.0, exact.size)
        seen += bool(octaves_of(exact + noise, 1_000.0)[0][:320].any())
    assert seen <= 8
