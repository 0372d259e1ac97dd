"""Printed results fit into the terminal: tables are stacked or folded, and no number is lost."""

import re

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.printable import NARROWEST, screen_width

LONG = "policyholder_age_at_inception"
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({LONG: RNG.standard_normal(5_000), "years": RNG.uniform(size=5_000)})
SIMULATED = {"epsilon": 2.0, "delta": 1e-6, "random_state": 0}


@pytest.fixture(scope="module")
def results():
    """Functions that print each result anew."""
    y = TABLE[LONG] + RNG.standard_normal(5_000)
    model = tg.LinearRegression(**SIMULATED).fit(TABLE, y)
    described, mean = tg.describe(TABLE, **SIMULATED), tg.mean(TABLE, **SIMULATED)
    advice = tg.plan("mean", n_rows=100_000, n_features=2, epsilon=1.0, delta=1e-6)
    return {
        "summary": lambda: str(model.summary()),
        "describe": lambda: str(described),
        "mean": lambda: str(mean),
        "plan": lambda: str(advice),
    }


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", ["summary", "describe", "mean", "plan"])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_lost(
    name, columns, results, monkeypatch
):
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = results[name]()
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = results[name]()
    assert max(map(len, shown.split("\n"))) <= columns
    numbers = set(re.findall(r"-?\d+\.\d+", wide))
    assert numbers <= set(re.findall(r"-?\d+\.\d+", shown))
    assert shown.count(LONG) == wide.count(LONG) or name == "describe"  # each part repeats it


def test_a_stacked_cell_is_not_broken(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = results["summary"]()
    assert re.search(rf"^{LONG}\n  coef \S+   std err \S+   z ", shown, flags=re.MULTILINE)


def test_without_a_terminal_texts_have_their_own_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert screen_width(88) == 88
    monkeypatch.setenv("COLUMNS", "200")
    assert screen_width(88) == 88
    monkeypatch.setenv("COLUMNS", "2")
    assert screen_width(88) == NARROWEST
