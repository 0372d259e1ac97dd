"""Bounds: units, directions, values, and upper ones above lower ones."""

import math
from functools import partial

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.papers import kamath2022, tao2022, wang2020, xu2025, zhao2024
from tailguard.papers.common import descent

SIZES = {"n_rows": 10**6, "n_features": 10}
PRIVACY = {"epsilon": 0.5, "delta": 1e-6}
CHANCE = {"failure_probability": 0.1}
CONVEX = {"strong_convexity": 1.0, "smoothness": 4.0}

# Bound, its arguments, and the power of the data's units that it has; None where the paper's
# units do not match or its moment is hidden.
BOUNDS = {
    "mean": (kamath2022.mean_bound, {"rho": 0.1}, 1),
    "mean-pure": (kamath2022.mean_bound_pure, {"epsilon": 0.5}, 1),
    "mean-lower": (kamath2022.mean_lower_bound, {"rho": 0.1}, 1),
    "mean-lower-pure": (kamath2022.mean_lower_bound_pure, {"epsilon": 0.5}, 1),
    "convex": (kamath2022.convex_bound, {"rho": 0.1, "diameter": 2.0}, 1),
    "convex-lower": (kamath2022.convex_lower_bound, {"rho": 0.1}, 1),
    "strong": (kamath2022.strongly_convex_bound, {"rho": 0.1, "diameter": 2.0, **CONVEX}, 2),
    "strong-lower": (kamath2022.strongly_convex_lower_bound, {"rho": 0.1}, 2),
    "tao-convex": (tao2022.convex_bound, {"epsilon": 0.5, "diameter": 2.0}, 1),
    "tao-strong": (tao2022.strongly_convex_bound, {"epsilon": 0.5, "diameter": 2.0, **CONVEX}, 2),
    "tao-convex-lower": (tao2022.convex_lower_bound, {"rho": 0.1}, 1),
    "tao-convex-lower-pure": (tao2022.convex_lower_bound_pure, {"epsilon": 0.5}, 1),
    "tao-strong-lower": (tao2022.strongly_convex_lower_bound, {"rho": 0.1}, 2),
    "tao-strong-lower-pure": (tao2022.strongly_convex_lower_bound_pure, {"epsilon": 0.5}, 2),
    "tao-sparse": (tao2022.sparse_bound, {"n_nonzero": 2, **PRIVACY, **CHANCE}, 2),
    "tao-sparse-lower": (tao2022.sparse_lower_bound, {"n_nonzero": 2, "rho": 0.1}, 2),
    "tao-sparse-lower-pure": (tao2022.sparse_lower_bound_pure, {"n_nonzero": 2, "epsilon": 0.5}, 2),
    "zhao": (zhao2024.convex_bound, {"rho": 0.1}, 1),
    "zhao-iterative": (zhao2024.iterative_convex_bound, PRIVACY, 1),
    "zhao-lower": (zhao2024.convex_lower_bound, {"rho": 0.1}, 1),
    "xu-accelerated": (xu2025.accelerated_bound, {"diameter": 2.0, **PRIVACY}, 1),
    "xu-phases": (xu2025.accelerated_tsybakov_bound, {"growth": 3.0, **PRIVACY}, 1.5),
    "xu-lower": (xu2025.tsybakov_lower_bound, {"growth": 3.0, "rho": 0.1}, 1.5),
}
EVERY = pytest.mark.parametrize("name", BOUNDS)


def bound(name, **changes):
    function, arguments, _ = BOUNDS[name]
    return function(**{**SIZES, "moment_order": 2.0, **arguments, **changes})


@EVERY
def test_bounds_carry_the_units_of_the_data(name):
    power = BOUNDS[name][2]
    assert bound(name, moment_bound=9.0) == pytest.approx(3.0**power * bound(name), rel=1e-12)


@EVERY
def test_more_rows_and_more_budget_help_and_more_features_hurt(name):
    budget = "rho" if "rho" in BOUNDS[name][1] else "epsilon"
    assert bound(name, n_rows=2 * 10**6) < bound(name)
    assert bound(name, **{budget: 2 * BOUNDS[name][1][budget]}) < bound(name)
    assert bound(name, n_features=11) > bound(name)


@EVERY
@pytest.mark.parametrize(
    "bad",
    [
        {"n_rows": 0},
        {"n_features": 2.5},
        {"moment_order": 1.0},
        {"moment_order": math.nan},
        {"moment_bound": -1.0},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name(name, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        bound(name, **bad)


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("mean", "mean-lower"),
        ("mean-pure", "mean-lower-pure"),
        ("convex", "convex-lower"),
        ("strong", "strong-lower"),
        ("tao-sparse", "tao-sparse-lower"),
        ("zhao", "zhao-lower"),
    ],
)
@pytest.mark.parametrize("n_rows", [10**3, 10**5, 10**8])
@pytest.mark.parametrize("n_features", [3, 100])
def test_upper_bounds_are_not_below_lower_ones(upper, lower, n_rows, n_features):
    sizes = {"n_rows": n_rows, "n_features": n_features}
    assert bound(upper, **sizes) >= bound(lower, **sizes) * (1 - 1e-12)


# Values and the regimes that the theorems describe


def test_the_private_term_is_capped_in_lower_bounds_only():
    few = {"n_rows": 2, "n_features": 100, "moment_order": 2.0, "rho": 1e-6}
    assert kamath2022.mean_lower_bound(**few) == pytest.approx(math.sqrt(50) + 10)
    assert kamath2022.mean_bound(**few) > 500


@pytest.mark.parametrize(
    ("threshold", "order", "bias"), [(10.0, 2.0, 1 / 116), (2.0, 3.0, 4 / 27 / 25)]
)
def test_clamping_bias(threshold, order, bias):
    args = {"moment_order": order, "threshold": threshold, "mean_bound": 1.0}
    assert kamath2022.clamping_bias(**args) == pytest.approx(bias)


def test_clamping_bias_is_attained():
    """Of all laws of second moment 1 about a mean of 0, some two-point law has this bias."""
    limit = 6.0
    worst = 0.0
    for point in np.linspace(limit, 4 * limit, 2000):
        chance = 1 / (1 + point**2)  # mean 0 and variance 1 with the other point at -1 / point
        worst = max(worst, chance * (point - limit))
    stated = kamath2022.clamping_bias(moment_order=2.0, threshold=2.0, mean_bound=1e-12)
    assert 0.98 * stated < worst <= stated


def test_clamping_needs_room_for_the_mean():
    with pytest.raises(InputError, match="threshold"):
        kamath2022.clamping_bias(moment_order=2.0, threshold=1.0, mean_bound=3.0)


def test_the_dropped_diameter_matters_above_one_only():
    args = {**SIZES, "moment_order": 2.0, "rho": 1e-6}
    assert kamath2022.convex_bound(diameter=4.0, **args) > 7.9 * kamath2022.convex_bound(
        diameter=1.0, **args
    )


def test_high_probability_and_soft_bounds():
    args = {**SIZES, "rho": 0.1, "diameter": 2.0}
    likely, unlikely = (
        kamath2022.convex_bound_with_probability(
            moment_order=2.0, smoothness=1.0, failure_probability=chance, **args
        )
        for chance in (0.1, 1e-6)
    )
    assert kamath2022.convex_bound(moment_order=2.0, **args) < likely < unlikely
    soft = partial(kamath2022.soft_convex_bound, balance=0.75, **args)
    assert soft(moment_bound=4.0) == pytest.approx(2 * soft())


def test_descent_of_a_perfect_oracle_reaches_zero():
    oracle = {"gradient_bound": 1.0, "gradient_bias": 0.0, "gradient_error": 0.0}
    risks = [
        descent.descent_bound(diameter=1.0, step_size=n**-0.5, n_steps=n, **oracle)
        for n in (10, 1000, 100_000)
    ]
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] < 0.01
    assert (
        descent.strongly_convex_descent_bound(
            diameter=1.0, n_steps=500, gradient_error=0.0, **CONVEX
        )
        < 1e-30
    )


def test_the_strongly_convex_frame_bounds_a_real_descent():
    """A quadratic with an adversarial gradient error of fixed length."""
    rng = np.random.default_rng(5)
    curvature = np.array([1.0, 4.0])
    for _ in range(50):
        point = rng.standard_normal(2)
        start = np.linalg.norm(point)
        for _ in range(10):
            error = rng.standard_normal(2)
            point = point - (curvature * point + 0.1 * error / np.linalg.norm(error)) / 5.0
        risk = (curvature * point**2).sum() / 2
        stated = descent.strongly_convex_descent_bound(
            diameter=start, n_steps=10, gradient_error=0.1, **CONVEX
        )
        assert risk <= stated


def test_scalar_bounds_are_ordered_and_the_lower_one_vanishes_for_large_delta():
    args = {"n_rows": 10**4, "moment_order": 1.5, "moment_bound": 2.0, "epsilon": 1.0}
    upper = tao2022.scalar_mean_bound(delta=1e-6, failure_probability=0.1, **args)
    lower = tao2022.scalar_lower_bound(delta=1e-6, **args)
    assert 0 < lower < upper
    assert tao2022.scalar_lower_bound(delta=0.9, **{**args, "epsilon": 0.01}) == 0.0
    shrunk = tao2022.scalar_lower_bound(delta=1e-9, **{**args, "n_rows": 8 * 10**4})
    assert shrunk / tao2022.scalar_lower_bound(delta=1e-9, **args) == pytest.approx(0.5, rel=1e-3)


def test_scalar_error_covers_a_real_error():
    """A Pareto-like law of the very order: errors beyond the bound are as rare as it says."""
    rng = np.random.default_rng(7)
    n_rows, order, threshold, noise = 2000, 1.5, 60.0, 0.05
    rows = rng.pareto(1.6, size=(400, n_rows))  # E x^1.5 = 1.5 B(1.5, 0.1)
    moment = 1.5 * math.gamma(1.5) * math.gamma(0.1) / math.gamma(1.6)
    kept = np.where(rows <= threshold, rows, 0.0).mean(axis=1)
    errors = np.abs(kept + noise * rng.standard_normal(400) - 1 / 0.6)
    stated = tao2022.scalar_error(
        n_rows=n_rows,
        moment_order=order,
        moment_bound=moment,
        threshold=threshold,
        noise_std=noise,
        failure_probability=0.1,
    )
    assert np.mean(errors > stated) <= 0.3


def test_mean_error_and_deviation():
    deviation = tao2022.deviation_bound(n_rows=100, moment_order=2.0, moment_bound=1.0)
    assert deviation == pytest.approx(math.sqrt(80 / 100))
    facts = {"n_features": 4, "n_groups": 10, "moment_order": 2.0, "moment_bound": 1.0}
    facts |= {"threshold": 10.0, "noise_std": 0.1, "failure_probability": math.exp(-4)}
    found = tao2022.mean_error(n_rows=1000, **facts)
    assert found == pytest.approx(2 * (math.sqrt(0.8) + 0.1) + 0.2 * (2 + 2))
    with pytest.raises(InputError, match="n_group_rows"):
        tao2022.mean_error(n_rows=5, **facts)


@pytest.mark.parametrize("v", [0.25, 0.5, 1.0])
def test_powers_are_those_of_the_theorems(v):
    """The second and third exponents of Theorems 6 and 7, written out."""
    n_rows, d, order = 10**6, 7, 1 + v
    args = {"n_rows": n_rows, "n_features": d, "moment_order": order}
    first = d ** ((1 + 4 * v) / (2 + 2 * v)) / n_rows ** (v / (1 + v))
    third = d ** ((3 + 12 * v) / (2 + 2 * v)) / n_rows ** (3 * v / (1 + v))
    convex = tao2022.convex_bound(epsilon=1.0, diameter=2.0, **args)
    assert convex == pytest.approx(2 * (first + third))
    strong = tao2022.strongly_convex_bound(
        epsilon=1.0, diameter=1.0, strong_convexity=1.0, smoothness=1.0, **args
    )
    power = d ** ((1 + 2 * v) / (1 + v)) / n_rows ** (2 * v / (1 + v))
    assert strong == pytest.approx(16 * power)


def test_wang_bounds():
    args = {"n_features": 5, **PRIVACY, **CHANCE}
    convex = [wang2020.convex_bound(n_rows=n, **args) for n in (10**4, 8 * 10**4)]
    assert convex[1] == pytest.approx(convex[0] / 2)
    shape = {"diameter": 2.0, **CONVEX}
    strong = partial(wang2020.strongly_convex_bound, n_rows=10**6, moment_bound=1.0, **shape)
    assert strong(**{**args, "n_features": 10}) == pytest.approx(8 * strong(**args))
    trimmed = partial(wang2020.trimmed_strongly_convex_bound, n_rows=10**6, tail_scale=1.0, **shape)
    assert trimmed(n_features=10, **PRIVACY) == pytest.approx(4 * trimmed(n_features=5, **PRIVACY))
    mean = partial(wang2020.private_mean_bound, n_rows=10**4, **PRIVACY, **CHANCE)
    assert mean(moment_bound=4.0) == pytest.approx(2 * mean(moment_bound=1.0))
    least = wang2020.trimmed_least_rows(n_rows=10**5, n_features=10, n_steps=100, **PRIVACY)
    assert least > 32 * 10 * 100 * math.log(10**5)


@pytest.mark.parametrize(("q", "shape"), [(2.0, 0.25), (3.0, 0.148148), (4.0, 0.105469)])
def test_clipping_bias(q, shape):
    args = {"n_features": 1, "moment_order": q}
    assert zhao2024.clipping_bias(clip_norm=1.0, **args) == pytest.approx(shape, rel=1e-5)
    halved = zhao2024.clipping_bias(clip_norm=2.0, **args)
    assert halved == pytest.approx(shape * 2 ** (1 - q), rel=1e-5)


def test_clipped_mean_bounds():
    args = {**SIZES, "moment_order": 2.0, "clip_norm": 50.0}
    expected = zhao2024.clipped_mean_error(noise_std=50.0 * math.sqrt(20) / 1e6, **args)
    assert expected < zhao2024.clipped_mean_bound(rho=0.1, failure_probability=0.1, **args)
    radius = partial(zhao2024.iterative_radius, **SIZES, n_groups=100, rho=0.1)
    assert radius(clip_norm=100.0, scale=2.0) == pytest.approx(
        2 * radius(clip_norm=50.0, scale=1.0)
    )
    quiet = radius(clip_norm=1e-9, scale=1.0)
    assert quiet == pytest.approx(160 * math.sqrt(10 / 1e6))


def test_the_bound_under_directional_moments_is_below_that_of_coordinates():
    args = {"n_rows": 10**6, "n_features": 100, "moment_order": 2.0, "rho": 1e-4}
    ratio = kamath2022.convex_lower_bound(**args) / zhao2024.convex_lower_bound(**args)
    assert 5 < ratio <= 10


def test_xu_bounds():
    args = {**SIZES, **PRIVACY, "moment_order": 2.0}
    assert xu2025.localized_bound(diameter=2.0, moment_bound=16.0, **args) == pytest.approx(
        xu2025.accelerated_bound(diameter=2.0, moment_bound=4.0, **args)
    )
    convex = xu2025.localized_bound(diameter=1.0, **args)
    assert xu2025.tsybakov_bound(growth=2.0, **args) == pytest.approx(convex**2)
    assert xu2025.tsybakov_bound(growth=1e9, **args) == pytest.approx(convex, rel=1e-6)
    assert xu2025.tsybakov_bound(growth=2.0, growth_constant=4.0, **args) == pytest.approx(
        convex**2 / 4
    )


@pytest.mark.parametrize("growth", [1.0, 0.5, math.nan])
def test_growth_of_one_and_less_is_refused(growth):
    with pytest.raises(InputError, match="growth"):
        xu2025.tsybakov_bound(growth=growth, moment_order=2.0, **SIZES, **PRIVACY)


def test_lower_bounds_under_growth_start_at_two():
    with pytest.raises(InputError, match="growth"):
        xu2025.tsybakov_lower_bound(growth=1.5, moment_order=2.0, rho=0.1, **SIZES)


def test_the_step_parameter_minimises_its_two_terms_of_the_localised_risk():
    from tailguard.papers.xu2025.parameters import localized_step_parameter

    facts = {"n_rows": 2**17, "n_features": 10, "diameter": 2.0, "clip_norm": 20.0}
    facts |= {"gradient_scale": 1.0, "mu": 0.3}
    eta = localized_step_parameter(**facts)

    def risk(step_parameter):
        return xu2025.localized_risk(
            step_parameter=step_parameter, moment_order=2.0, n_minimum=2, **facts
        )

    assert risk(eta) < min(risk(eta / 1.5), risk(eta * 1.5))
