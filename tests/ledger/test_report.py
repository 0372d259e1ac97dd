"""A ledger as text tells costs in the currency of its cap."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.ledger.report import history_content, history_text, summary_text
from tailguard.privacy.events import Gaussian, Pure, Selected


def test_history_names_what_a_run_released_and_nothing_that_depends_on_records(tmp_path):
    listed = []
    for k, scale in enumerate((1.0, 1e6)):
        ledger = tg.Ledger(tmp_path / f"{k}.sqlite", "claims", guarantee=tg.ZCDP(5.0)).with_key("a")
        rows = scale * np.random.default_rng(k).standard_normal((2_000, 2))
        tg.mean(rows, method="clipped", guarantee=tg.ZCDP(0.5), ledger=ledger)
        listed.append(history_text(ledger).splitlines()[2:])
    first, second = listed
    assert first == second
    assert first[0].endswith("  a")
    words = " ".join(line.strip() for line in first[1:])
    assert words.startswith("for number of usable records, histograms of values, ")
    assert words.endswith("clipped mean by shells")
    assert max(map(len, first)) <= 88


def test_a_search_has_no_end_and_other_charges_have_one(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=9.0, delta=1e-4)
    ledger.charge(Selected(0.1, 10.0), key="search")
    ledger.charge(Gaussian(0.1), key="report")
    assert [each["end"] for each in history_content(ledger)["charges"]] == [None, "not settled"]
    assert history_text(ledger).count("not settled") == 1


def test_a_summary_names_the_command_that_lists_its_runs(tmp_path):
    ledger = tg.Ledger(tmp_path / "our budget.sqlite", "claims", guarantee=tg.ZCDP(5.0))
    last = summary_text(ledger).splitlines()[-1]
    assert last.startswith("runs       listed by: tailguard ledger history '")
    assert last.endswith("our budget.sqlite' --name claims")


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
