"""Defaults against a theorem's numbers, and a theorem that a ledger is charged with."""

import numpy as np

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.papers.tao2022.parameters import sparse_threshold
from tailguard.solvers.limits import choose_sparse_limits

RATIO = 1.0 / 14.0


def test_a_theorem_charges_a_ledger_and_keeps_the_guarantee_that_it_states(tmp_path):
    """A fit that asks for a ledger's whole cap plans within its filter; a theorem has its own."""
    cap = {"epsilon": 1.0, "delta": 1e-6}
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="a", **cap)
    X = np.random.default_rng(0).standard_normal((400, 2))
    theorem = tg.papers.kamath2022.convex(
        guarantee=tg.ApproxDP(**cap), moment=tg.Moment(2.0, 9.0), diameter=2.0
    )
    found = theorem.minimize(tg.losses.Huber(1.0), X, X[:, 0], ledger=ledger)
    assert found.certificate.guarantee == tg.ApproxDP(**cap)
    assert found.certificate.ledger_entries == (ledger.lines()[1].entry(),)


def test_the_threshold_of_the_theorem_is_far_above():
    theorem = sparse_threshold(
        n_rows=20_000,
        n_features=1000,
        n_kept=5,
        n_steps=10,
        smoothness=3.0,
        moment_order=1.5,
        moment_bound=3.0,
        epsilon=1.0,
        delta=1e-6,
        failure_probability=0.1,
    )
    chosen = choose_sparse_limits(Problem(tg.losses.Squared(), 20_000, 1000), RATIO, 5)
    assert chosen.threshold < theorem / 1.5
    printed = choose_sparse_limits(
        Problem(tg.losses.Squared(), 20_000, 1000), RATIO, 5, n_steps=10, threshold=59.0
    )
    # At the theorem's numbers the largest noise drowns weights of 1, and ours does not.
    assert printed.largest_noise > 3.0
    assert chosen.largest_noise < 0.1
