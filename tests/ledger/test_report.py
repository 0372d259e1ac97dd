"""A ledger as text tells costs in the currency of its cap."""

import pytest

import tailguard as tg
from tailguard.ledger.report import history_text, summary_text
from tailguard.privacy.events import Gaussian, Pure


@pytest.mark.parametrize(
    ("cap", "event", "told"),
    [
        (tg.ApproxDP(4.0, 1e-5), Pure(0.5), "epsilon = 0.5, delta = 1e-05"),
        (tg.GDP(1.0), Gaussian(0.5), "mu = 0.5, rho = 0.125"),
        (tg.ZCDP(1.0), Gaussian(0.5), "rho = 0.125"),
    ],
)
def test_costs_are_told_in_the_currency_of_the_cap(cap, event, told, tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=cap)
    assert "total      nothing" in summary_text(ledger)
    ledger.charge(event, key="report of March")
    (line,) = [line for line in history_text(ledger).splitlines() if "March" in line]
    assert told in line
    (total,) = [line for line in summary_text(ledger).splitlines() if line.startswith("total")]
    assert told in total
