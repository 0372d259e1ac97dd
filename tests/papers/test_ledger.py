"""A theorem that charges a ledger."""

import numpy as np

import tailguard as tg


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
