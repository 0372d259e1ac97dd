"""The rows of docs/papers.md that are no descent on a printed noise: oracles, frames and bounds.

As in ``test_rows.py`` every number is typed anew from the texts. ``test_smooth_rows.py`` has those
whose noise follows records.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import tailguard as tg
from papers.support import texts_wang_xu
from papers.support.texts import (
    APPROX,
    DIAMETER,
    PRECISION,
    RHO,
    ZCDP,
    D,
    N,
    checked,
    close,
    log,
    sqrt,
)
from support.recursions import data, without_noise
from tailguard.gate.plan import Problem
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.reproduce.experiments import wang2020, xu2025
from tailguard.papers.reproduce.tasks import wang


def test_row_6_batches():
    """Section 6, Appendix C; ours: disjoint batches, each of which may spend all."""
    moment = tg.Moment(2.0, 5.0, kind="raw")
    call = tg.papers.wang2020.stochastic
    theorem = call(N, D, ZCDP, moment=moment, diameter=DIAMETER)
    says = texts_wang_xu.wang_batches()
    assert theorem.noise_std == close(says.pop("noise"), rel=1e-5)
    checked({**vars(theorem.solver), **theorem.solver.oracle.parameters}, says)
    X, y = data(4_000)
    small = call(4_000, 3, tg.GDP(1e3), moment=moment, diameter=DIAMETER)
    solved = small.minimize(tg.losses.Squared(), X, y, random_state=0)
    assert solved.solution.trace.shape == (4, 3)
    mean = solved.solution.trace.mean(axis=0)  # all points, those on the way included
    np.testing.assert_allclose(solved.coef, mean, atol=1e-12)
    with pytest.raises(tg.InputError, match="the paper prints no noise"):
        call(N, D, APPROX, moment=moment, diameter=DIAMETER, calibration="printed")


def psi(a, beta):
    """Equations (5) to (8): E phi(a (1 + eta)), eta of variance 1 / beta."""

    def phi(z):
        edge = sqrt(2)
        return z - z**3 / 6 if abs(z) <= edge else math.copysign(2 * sqrt(2) / 3, z)

    def weighted(t):
        return phi(a * (1 + t / sqrt(beta))) * math.exp(-(t**2) / 2) / sqrt(2 * math.pi)

    ends = [(side * sqrt(2) / a - 1) * sqrt(beta) for side in (-1, 1)]
    inner = [t for t in ends if abs(t) < 12]
    return quad(weighted, -12, 12, points=inner or None, epsabs=1e-14, epsrel=1e-13, limit=400)[0]


def test_row_7_robust_descent_is_algorithm_4_without_noise():
    X, y = data(30, 2)
    v, chance, w = 2.0, 0.05, np.zeros(2)
    nats = log(1 / chance)
    scale = sqrt(30 * v / (2 * nats))
    for _ in range(3):
        gradients = (X @ w - y)[:, None] * X
        mean = [sum(psi(g / scale, nats) for g in column) * scale / 30 for column in gradients.T]
        w = w - 0.3 * np.array(mean)
    told = {"n_steps": 3, "step_size": 0.3, "moment_bound": v, "failure_probability": chance}
    found = tg.papers.baselines.robust_gradient_descent(tg.losses.Squared(), X, y, **told)
    np.testing.assert_allclose(found.coef, w, rtol=1e-9)


def test_row_8_the_experiments_have_what_the_paper_states():
    """Section 6 and Appendix C."""
    assert wang.EPSILONS == (0.1, 0.5, 1.0)
    assert (wang.MOMENT.bound, wang.STEP, wang.TRIMMED_STEP, wang.TRIMMED_SHARE) == (
        5,
        0.1,
        0.01,
        0.05,
    )
    theorem = wang.curves_of(50, N, by_theorem=False)[2].call(N, 10, APPROX)
    assert theorem.solver.oracle.parameters["smoothing"] == close(log(100), **PRECISION)
    batches = wang.batches(N, 10, APPROX).solver
    assert (batches.n_steps, batches.step_size, batches.decay) == (N // 1000, 1.0, "root")
    assert {each.name for each in wang2020.experiments()} >= {f"wang2020-{i}" for i in range(1, 5)}


def test_row_9_the_frame_is_algorithm_1():
    """K22 Algorithm 1, on a mean that is clamped at three times a threshold."""
    X, y = data(60)
    oracle = tg.solvers.make_oracle("clamped", threshold=0.2, n_groups=1)
    frame = tg.solvers.NoisyGradientDescent(
        5, oracle=oracle, step_size=0.3, iterate="average", clip_norm=None
    )
    found = without_noise(frame, X, y, tg.sets.L2Ball(0.4))
    w, points = np.zeros(3), []
    for _ in range(5):
        w = w - 0.3 * np.clip((X @ w - y)[:, None] * X, -0.6, 0.6).mean(axis=0)
        w = w / max(1.0, np.linalg.norm(w) / 0.4)
        points.append(w)
    np.testing.assert_allclose(found.trace, points, atol=1e-6)
    np.testing.assert_allclose(found.coef, np.mean(points, axis=0), atol=1e-6)  # w^1 to w^T


def test_zhao_averages_from_the_start():
    """Algorithm 1, equation (8): w_1 to w_T, the start among them, and not w_{T+1}."""
    X, y = data(60)
    told = {"moment": tg.Moment(2.0, 1.0, kind="directional"), "smoothness": 1.0, "n_steps": 4}
    for name in ("convex", "iterative_convex"):
        call = getattr(tg.papers.zhao2024, name)
        groups = {"n_groups": 5} if name == "iterative_convex" else {}
        theorem = call(60, 3, APPROX, **told, **groups, diameter=2.0, calibration="printed")
        found = without_noise(theorem.solver, X, y, tg.sets.L2Ball(1.0))
        points = np.vstack([np.zeros(3), found.trace[:-1]])
        np.testing.assert_allclose(found.coef, points.mean(axis=0), atol=1e-9)
        tight = call(60, 3, APPROX, **told, **groups, diameter=2.0)
        assert "the start in place of the last point" in tight.explain()
        assert "the start in place of the last point" not in theorem.explain()


SIZES = {"n_rows": N, "n_features": 64}


def test_row_16_lower_bounds_of_kamath():
    """Theorems 6.1, 6.4 and B.7 on a ball of diameter 2; Theorem 1.4 with the n it lacks (E19)."""
    found = tg.papers.kamath2022.convex_lower_bound_pure(**SIZES, moment_order=2.0, epsilon=1.0)
    assert found == close(sqrt(64 / N) + sqrt(64) * (64 / N) ** 0.5, **PRECISION)
    found = tg.papers.kamath2022.convex_lower_bound(**SIZES, moment_order=4.0, rho=RHO)
    private = (sqrt(64) / (sqrt(RHO) * N)) ** (3 / 4)
    assert found == close(sqrt(64 / N) + sqrt(64) * private, **PRECISION)
    squared = tg.papers.kamath2022.strongly_convex_lower_bound(**SIZES, moment_order=4.0, rho=RHO)
    assert squared == close(64 / N + 64 * private**2, **PRECISION)
    told = {"log_n_laws": 25.0, "n_rows": 1000, "separation": 0.3, "rho": RHO}
    told["total_variation"] = 1e-3
    moved = RHO * (1000**2 * 1e-6 + 1000 * 1e-3 * (1 - 1e-3))
    fano = tg.papers.fano.fano_bound(**told)
    assert fano == close(0.15 * (1 - (moved + log(2)) / 25), **PRECISION)
    law = tg.papers.instances.hard_means(64, 4, chance=0.01, moment_order=2.0)[0]
    assert np.max(np.abs(law.mean)) == close(0.01 ** (1 / 2), **PRECISION)  # p^(-1/k) at chance p


def test_row_31_projections_onto_a_set_and_a_ball():
    """Remark 3 of Xu, in closed form: on the sphere, and where the sphere meets the face."""
    near = tg.sets.IntersectionWithBall(tg.sets.L1Ball(1.0), (0.5, 0.0), 0.3)
    way = np.array([2.5, 1.0])
    np.testing.assert_allclose(
        near.project([3.0, 1.0]), [0.5, 0.0] + 0.3 * way / np.linalg.norm(way), rtol=1e-9
    )
    near = tg.sets.IntersectionWithBall(tg.sets.L1Ball(1.0), (0.5, 0.2), 0.4)
    first = (2.6 - sqrt(2.6**2 - 8 * 0.73)) / 4  # (w - .5)^2 + (.8 - w)^2 = .16
    np.testing.assert_allclose(near.project([0.0, 3.0]), [first, 1 - first], rtol=1e-9)
    both = tg.sets.Intersection(tg.sets.L1Ball(1.0), tg.sets.L2Ball(0.5))
    ends = 0.5 * np.array([3.0, 1.0]) / sqrt(10)  # inside of the l1 ball
    np.testing.assert_allclose(both.project([3.0, 1.0]), ends, rtol=1e-6)


@pytest.mark.parametrize("growth", [2.0, 3.0])
def test_row_32_lower_bounds_of_xu(growth):
    """Theorems 4 and 5, with the chance of the proof (E53)."""
    known = {"moment_order": 2.0, "moment_bound": 9.0, "growth": growth}
    power = growth / (growth - 1)
    found = tg.papers.xu2025.tsybakov_lower_bound(**SIZES, **known, rho=RHO)
    private = 3 * (sqrt(64) / (sqrt(RHO) * N)) ** (1 / 2)
    assert found == close(private**power, **PRECISION)
    found = tg.papers.xu2025.bounds.tsybakov_lower_bound_sampling(n_rows=N, **known)
    assert found == close((3 / sqrt(N)) ** power, **PRECISION)
    law = tg.papers.instances.hard_tsybakov(64, 3, n_rows=N, rho=RHO, **known)
    assert law


def test_row_33_the_experiments_have_what_the_paper_states():
    """Section 7.1; LNC-GM on the practical schedule in both columns, and the printed one beside."""
    assert xu2025.EPSILONS == (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
    assert (xu2025.N_ROWS, xu2025.ROWS_EPSILON, xu2025.DELTA_POWER) == (10_000, 8.0, -1.1)
    study = xu2025._Study(
        xu2025.Task("l4", tg.losses.LpLoss(4.0), None), -1.0, 0.0, 4.0, 12.0, "a8a"
    )
    for curve, schedule in ((xu2025.LNC, "practical"), (xu2025.LNC_PRINTED, "printed")):
        for noise in ("printed", "tight"):
            theorem = study.methods[curve](10_000, 123, APPROX, calibration=noise)
            assert isinstance(theorem, Theorem)
            assert (theorem.solver.schedule, theorem.solver.calibration) == (schedule, noise)
            task = Problem(tg.losses.Squared(), 10_000, 123)
            sizes = [each.n_rows for each in theorem.solver.phases(task, 1.0, APPROX)]
            assert (sizes[-3:] == [4, 2, 1]) is (schedule == "printed")
    told = [each for each in xu2025.experiments() for each in each.claims if "LNC-GM" in each.name]
    assert len(xu2025.experiments()) == 12
    assert len(told) == 22
    whose = "LNC-GM (our practical schedule)"
    assert all(whose in each.name for each in told)
    assert all(whose in each.says for each in told)
