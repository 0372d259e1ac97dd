"""Oracles by name, and mean oracles of a user's own in the frame of Kamath, Liu and Zhang."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import make_oracle

GUARANTEE = tg.ApproxDP(1.0, 1e-6)
GROUPS = {"clip_norm": 2.0, "n_groups": 12}


def descend(centre, **options):
    data = tg.datasets.heavy_tailed_linear(n_rows=2_000, n_features=3, seed=2)
    oracle = make_oracle("iterative", **GROUPS, centre=centre)
    solver = NoisyGradientDescent(8, oracle=oracle, step_size=0.1, **options)
    return tg.minimize(
        tg.losses.Huber(1.0),
        data.features,
        data.target,
        guarantee=GUARANTEE,
        constraint=tg.sets.L2Ball(1.0),
        solver=solver,
        random_state=3,
    )


def columnwise_median(means):
    return np.median(means, axis=0)


@pytest.mark.parametrize("schedule", ["full", "disjoint"])
def test_a_mean_of_a_users_own_is_what_a_registered_one_of_the_same_kind_is(schedule):
    own, ours = descend(columnwise_median, schedule=schedule), descend("median", schedule=schedule)
    assert np.array_equal(own.coef, ours.coef)
    assert own.certificate.total == ours.certificate.total
    assert own.certificate.total.epsilon <= 1.0
    assert "centre = columnwise_median" in own.plan.explain()


def test_it_is_handed_noised_means_of_groups_and_nothing_else():
    seen = []

    def first(means):
        seen.append(means.copy())
        return means[0]

    descend(first)
    assert len(seen) == 8
    assert all(means.shape == (12, 3) for means in seen)
    zeros = np.zeros((2_000, 3))
    seen.clear()
    solver = NoisyGradientDescent(
        2, oracle=make_oracle("iterative", **GROUPS, centre=first), step_size=0.1
    )
    known = {"guarantee": GUARANTEE, "constraint": tg.sets.L2Ball(1.0), "random_state": 3}
    tg.minimize(tg.losses.Squared(), zeros, np.zeros(2_000), solver=solver, **known)
    noise = 2.0 * 2.0 * np.sqrt(2.0) / GUARANTEE.gaussian_mu() / (2_000 // 12)
    assert 0.6 * noise < np.std(seen) < 1.4 * noise  # there is nothing but noise in it


def test_what_is_no_number_counts_as_zero_and_another_shape_is_refused():
    assert np.array_equal(descend(lambda means: np.full(3, np.nan)).coef, np.zeros(3))
    with pytest.raises(tg.InputError, match="centre must return a vector of 3 entries"):
        descend(lambda means: means)


def test_only_the_iterative_mean_takes_a_function():
    with pytest.raises(tg.InputError, match="got centre"):
        make_oracle("clipped", clip_norm=1.0, centre=columnwise_median)
    with pytest.raises(tg.InputError, match="or a function"):
        make_oracle("iterative", **GROUPS, centre="all")


def test_the_trace_has_the_released_iterates_one_a_row():
    solved = descend("median", iterate="last")
    assert solved.trace.shape == (8, 3)
    assert np.array_equal(solved.trace[-1], solved.coef)
    tail = descend("median", iterate="tail")
    assert np.array_equal(tail.trace, solved.trace)
    np.testing.assert_allclose(tail.coef, solved.trace[4:].mean(axis=0), rtol=1e-12)
