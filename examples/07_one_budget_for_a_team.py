"""
How do several people share one budget?
=======================================

A ledger is a file that holds the budget of a data set. Every fit and mean is charged before it
reads a record, by whichever process asks first, and what does not fit is refused.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import tailguard as tg

claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
X, y = claims.features, claims.target
folder = tempfile.TemporaryDirectory()
ledger = tg.Ledger(Path(folder.name) / "budget.sqlite", name="claims-2026", epsilon=3.0, delta=1e-5)

spent = [0.0]
asks = {
    "means of all columns": lambda: tg.mean(X, epsilon=0.5, delta=1e-6, ledger=ledger),
    "regression of Ann": lambda: tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger).fit(
        X, y
    ),
    "regression of Ben": lambda: tg.HuberRegression(epsilon=1.5, delta=1e-6, ledger=ledger).fit(
        X, y
    ),
    "one too many": lambda: tg.LinearRegression(epsilon=3.0, delta=1e-6, ledger=ledger).fit(X, y),
}
for name, ask in asks.items():
    try:
        ask()
    except tg.BudgetError as error:
        print(f"{name}: {error}")
    spent.append(ledger.total().epsilon)

# %%
# Budgets do not simply add up: three runs of epsilon .5, 1 and 1.5 cost less than 3 together. The
# fourth would pass the cap, so it is refused and costs nothing.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.step(range(len(spent)), spent, where="post")
axes.set_title("Epsilon spent by the runs of a team, and the cap")
axes.set_xticks(range(1, len(spent)), list(asks), rotation=15)
axes.axhline(3.0, color="gray", linestyle="--")
axes.set_ylabel("epsilon spent at delta = 1e-5")
plt.show()
folder.cleanup()
