"""Theorems and printed noise are run as they are stated: no count of usable records comes first."""

import numpy as np
import pytest

import tailguard as tg

N_ROWS = 2_000
SQUARED = tg.losses.Squared()


def table():
    X = np.random.default_rng(0).standard_normal((N_ROWS, 2))
    return X, X @ np.array([1.0, -0.5])


def test_printed_noise_has_no_count():
    told = {"epsilon": 1.0, "delta": 1e-5, "calibration": "printed", "random_state": 0}
    moment = tg.Moment(2.0, 5.0, kind="directional")
    printed = tg.papers.zhao2024.clipped_mean(table()[0], moment=moment, **told)
    assert not any("usable" in release.name for release in printed.certificate.releases)
    solver = tg.papers.solvers.PermutedAccelerated(n_steps=10, calibration="printed")
    told = {"constraint": tg.sets.L2Ball(1.0), "guarantee": tg.ApproxDP(1.0, 1e-5)}
    solved = tg.minimize(SQUARED, *table(), solver=solver, random_state=0, **told)
    assert not any("usable" in release.name for release in solved.certificate.releases)


def test_theorems_have_no_count():
    X, y = table()
    moment = tg.Moment(2.0, 9.0)
    theorem = tg.papers.kamath2022.convex(guarantee=tg.GDP(1.0), moment=moment, diameter=2.0)
    unsized = tg.papers.kamath2022.convex(moment=moment, diameter=2.0)
    guarantee = tg.GDP(1.0)
    ball = tg.sets.L2Ball(1.0)
    for solved in (
        theorem.minimize(SQUARED, X, y),
        tg.minimize(SQUARED, X, y, solver=theorem, guarantee=guarantee, constraint=ball),
        tg.minimize(SQUARED, X, y, solver=unsized, guarantee=guarantee, constraint=ball),
    ):
        assert "usable" not in solved.plan.explain()
        assert solved.plan.total_mu == pytest.approx(1.0, rel=1e-6)
